/* SPDX-License-Identifier: Apache-2.0 */
/* corpus.h -- the documents of a pairing job: shingle sets, band keys, words and copies.
 *
 * Documents are added batch by batch in input order (bm_corpus_add), and then read by many threads.
 * Of identical documents, only the first one's set is stored. Sets are kept in memory. A set is
 * sorted when it is first needed, because most documents are never candidates. If the job would
 * exceed its memory, sets are moved to a file in temp_dir, or dropped and made again when they are
 * needed. If that does not suffice, band keys are moved to a file too (corpus_parts.h). The results
 * of bm_corpus_compare and bm_corpus_keyset do not depend on such moves. */
#pragma once

#include "base/threads.h"
#include "corpus/corpus_parts.h"
#include "lsh/verify.h"
#include "sign/ingest.h"

void bm_corpus_init(bm_corpus *corpus, const bm_corpus_cfg *cfg);
void bm_corpus_reset(bm_corpus *corpus);

/* --- adding --- */

/* Add the documents of a batch with all their data. BM_ERR_NOMEM: cfg.memory does not suffice.
 * BM_ERR_IO. */
bm_status bm_corpus_add(bm_corpus *corpus, const bm_ingest_batch *batch, size_t first_row,
                        bm_error *err);

/* Functions with which an ingest adds documents to the corpus. The sink's `place` counts documents
 * and reserves space for their sets, in input order; its `put` stores keys and sets, on any thread.
 * The early functions handle sizes and copies of a batch before `place` is called for it. */
bm_ingest_sink bm_corpus_sink(bm_corpus *corpus);
bm_ingest_early bm_corpus_early(bm_corpus *corpus);

/* Documents that were signed before. They have words, but no text. */
typedef struct bm_signed_docs {
    size_t n;
    const uint32_t *words;      /* cfg.words.uints of each document */
    const uint64_t *keys;       /* cfg.bands keys of each document, side by side */
    const uint32_t *n_shingles; /* number of shingles of each document */
    /* content hash of each document; NULL: unknown, so no documents are found to be identical */
    const bm_hash128 *content;
} bm_signed_docs;

bm_status bm_corpus_add_words(bm_corpus *corpus, const bm_signed_docs *docs, bm_error *err);
/* A sink that adds the hashes of documents that were signed before. Their texts are read again in
 * the same order. BM_ERR_FORMAT: a text has changed. */
bm_ingest_sink bm_corpus_hash_sink(bm_corpus *corpus);
/* End adding, and free the memory that only adding needs. A second call does nothing. */
bm_status bm_corpus_end_adding(bm_corpus *corpus, bm_error *err);
/* Move into memory the columns that matching reads in random order. Call this after adding has
 * ended and keys were read back. A second call does nothing. */
bm_status bm_corpus_begin_matching(bm_corpus *corpus, bm_error *err);
/* Move the sets to a file. Call this after adding has ended. */
bm_status bm_corpus_sets_to_file(bm_corpus *corpus, bm_error *err);

/* --- comparing --- */

/* Sort all unsorted sets on all threads. Sets must be in memory. */
bm_status bm_corpus_sort_all(bm_corpus *corpus, bm_pool *pool, bm_error *err);

/* How to compare. The rule's members `weighted` and `words` are ignored, because the corpus has its
 * own. */
typedef struct bm_comparison {
    bm_similarity_rule rule;
    bm_pool *pool;
} bm_comparison;
bm_status bm_corpus_compare(bm_corpus *corpus, const bm_comparison *how, bm_pair *pairs, size_t n,
                            bm_error *err);

/* --- bytes written to files --- */

typedef struct bm_corpus_spilled {
    uint64_t set_bytes, key_bytes; /* sizes of the files, after adding has ended; 0: no file */
    uint64_t bytes_back;           /* bytes of sets that were read back */
} bm_corpus_spilled;

bm_corpus_spilled bm_corpus_spilled_bytes(const bm_corpus *corpus);

/* corpus_range -- reads the documents of a corpus, one range at a time, with their keys and sorted
 * sets. They are compared with documents outside the corpus.
 *
 * Ranges must be read before bm_corpus_end_adding. Copies and documents without shingles are
 * omitted. */

/* A range covers at most BM_RANGE_ROWS documents of the corpus, or as many as have keys and words
 * that take at most 1 / BM_RANGE_PART of the memory, whichever is more. */
#define BM_RANGE_ROWS 8192u
#define BM_RANGE_PART 4u

/* Start with {0}. Each range reuses the memory of the previous one. */
typedef struct bm_corpus_range {
    size_t next;           /* the first document of the next range */
    size_t n;              /* documents in this range */
    uint32_t *docs;        /* their numbers, ascending */
    uint32_t *sizes;       /* number of distinct shingles of each document */
    uint64_t *keys;        /* n * bands keys */
    const uint64_t **sets; /* if the corpus stores hashes: the hashes of each document, ascending */
    uint32_t *words;       /* if the corpus stores words: n * cfg.words.uints of them */
    size_t cap, cap_keys, cap_words, cap_arena;
    uint64_t *arena; /* memory for sets that are read back from a file */
} bm_corpus_range;

/* Read the next range. It begins at range->next, and covers as many documents as have sets that fit
 * into `most` bytes, but at least one. If it covers only copies and documents without shingles,
 * range->n becomes 0. BM_NOT_FOUND, without an error in *err: all documents were read.
 * BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT. */
bm_status bm_corpus_range_next(bm_corpus *corpus, uint64_t most, bm_pool *pool,
                               bm_corpus_range *range, bm_error *err);
void bm_corpus_range_reset(bm_corpus_range *range);
/* Copy the set of the representative `row` to `to`: sizes[row] hashes, ascending, or
 * cfg.words.uints words. */
bm_status bm_corpus_copy_set(bm_set_reader *reader, size_t row, void *to, bm_error *err);

/* corpus_save -- saves a corpus in one process and restores it in another.
 *
 * Sets are in a file of records (corpus_parts.h). bm_corpus_save_sets appends the sets that the
 * file does not have. The caller (checkpoint_state.h) saves and restores all other columns, a block
 * of documents at a time.
 *
 * The sets of a restored corpus are in the file, even if they would fit into --memory. No result
 * depends on that. One thread at a time, as for adding. */

/* Can the corpus still be saved? False from the time when matching reads band keys back from a
 * file, because they become labels, and the keys themselves are lost. */
static inline bool bm_corpus_can_save(const bm_corpus *corpus)
{
    return corpus->keys.state == BM_KEYS_IN_MEMORY ||
           (corpus->keys.state == BM_KEYS_IN_FILE && corpus->keys.file_bytes == 0);
}

/* The next n documents to restore. */
typedef struct bm_corpus_rows {
    size_t n;
    const bm_doc_row *docs;    /* rows of the documents, from which the sizes are taken */
    const bm_hash128 *content; /* content hash of each document; NULL if `rep` is given */
    /* representative of each document, if no documents will be added any more; otherwise NULL */
    const uint32_t *rep;
    const uint64_t *keys;  /* all bands of a document side by side; NULL: no bands */
    const uint64_t *texts; /* if sets are made again: offset of each document's record in its input;
                            * otherwise NULL */
} bm_corpus_rows;

/* Restore rows. Call bm_corpus_restore_sets first. BM_ERR_FORMAT: the rows contradict earlier
 * rows. */
bm_status bm_corpus_restore_rows(bm_corpus *corpus, const bm_corpus_rows *rows, bm_error *err);
/* End restoring. Call this after all rows were restored. BM_ERR_FORMAT: the file of sets belongs to
 * other documents. */
bm_status bm_corpus_restore_end(bm_corpus *corpus, bm_error *err);
