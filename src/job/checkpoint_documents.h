/* checkpoint_documents.h -- the documents that a job has read, in a file: rows, ids, counts, and the
 * columns of the corpus (but for sets, corpus_save.h).
 *
 *     record   header | rows | ids | content hashes or representatives | band keys | skipped records |
 *              digests of the inputs | keys that rank   (one block of documents; spill_file.h)
 *
 * Integers as they lie in memory: the file is for the same program on the same machine, which the
 * journal makes sure of. Threads: one at a time, while nobody adds. */
#ifndef BM_CHECKPOINT_CHECKPOINT_DOCUMENTS_H
#define BM_CHECKPOINT_CHECKPOINT_DOCUMENTS_H

#include <bandmill/job.h>

#include "input/input_set.h"
#include "corpus/corpus.h"
#include "corpus/keep_keys.h"
#include "model/doc_table.h"
#include "spill/spill_file.h"

/* What is saved, and where it comes back to. */
typedef struct bm_checkpoint_documents {
    bm_doc_table *docs;
    bm_counts *counts;
    bm_corpus *corpus;    /* NULL: the job has none */
    bm_keep_keys *keep;   /* NULL: documents have no keys that rank them */
    bm_input_set *inputs; /* for the digests of those that were read to their ends */
    bool complete;        /* for saving: all inputs were read */
} bm_checkpoint_documents;

/* Bytes that saving the documents from `first` on would write, about. */
uint64_t bm_checkpoint_documents_unsaved_bytes(const bm_checkpoint_documents *what, size_t first);
/* Append the documents from `first_doc` and the skipped records from `first_skipped` on, with the
 * counts as they are. Flushes. */
bm_status bm_checkpoint_documents_save(const bm_checkpoint_documents *what, size_t first_doc,
                                       size_t first_skipped, bm_spill_file *file, bm_error *err);
/* Into an empty table and corpus (whose sets were restored). BM_ERR_FORMAT: not what was saved. */
bm_status bm_checkpoint_documents_load(const bm_checkpoint_documents *what,
                                       const bm_spill_file *file, bm_error *err);

#endif
