/* corpus_save.h -- a corpus that one process leaves and another takes up.
 *
 * Sets lie in one file of records (spill_file.h): of each representative in input order, from the
 * header on, side by side, so that the columns tell every place. A corpus whose sets are in memory
 * writes them there once; one whose sets are in a file gives that file a name. All other columns
 * are handed out and taken back by the caller (checkpoint_documents.h), a block of documents at a time.
 *
 * A corpus that was restored has its sets in the file, whatever --memory would allow: no result
 * depends on that. Threads: one at a time, as for adding. */
#ifndef BM_CORPUS_CORPUS_SAVE_H
#define BM_CORPUS_CORPUS_SAVE_H

#include "pipeline/corpus/corpus.h"

/* False once band keys that went to a file are being matched: they become labels, and cannot be
 * told again. */
bool bm_corpus_can_save(const bm_corpus *corpus);
/* Bytes of sets that bm_corpus_save_sets would write now, about. */
uint64_t bm_corpus_unsaved_bytes(const bm_corpus *corpus);
/* Bring the sets of all documents into the file `path`, where they stay; saved_bytes and
 * saved_records say how much of it that is. The same path every time. BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_corpus_save_sets(bm_corpus *corpus, const char *path, bm_error *err);
/* The keys of n documents from `first`, bands of each side by side: n * bands. */
bm_status bm_corpus_copy_keys(const bm_corpus *corpus, size_t first, size_t n, uint64_t *to,
                              bm_error *err);

/* An empty corpus takes over the file that was saved, of so many bytes and records. */
bm_status bm_corpus_restore_sets(bm_corpus *corpus, const char *path, uint64_t bytes,
                                 uint64_t records, bm_error *err);

typedef struct bm_corpus_rows {
    size_t n;
    const bm_doc_row *docs;     /* for their sizes */
    const bm_hash128 *sequence; /* or, where nothing will be added any more, */
    const uint32_t *rep;        /* this; the other is NULL */
    const uint64_t *keys;       /* bands of each side by side; NULL without bands */
} bm_corpus_rows;

/* The next n documents. BM_ERR_FORMAT where they do not fit what came before. */
bm_status bm_corpus_restore_rows(bm_corpus *corpus, const bm_corpus_rows *rows, bm_error *err);
/* All documents are there. BM_ERR_FORMAT: the file of sets is that of other documents. */
bm_status bm_corpus_restore_end(bm_corpus *corpus, bm_error *err);

#endif
