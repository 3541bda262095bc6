/* SPDX-License-Identifier: Apache-2.0 */
/* corpus.h -- the documents of a pairing job: shingle sets, band keys, words and copies.
 *
 * Filled batch by batch in input order (bm_corpus_add), read by many threads afterwards. Sets are
 * held for the first of identical documents only. They stay in memory, one block a batch, each
 * sorted when somebody first needs it, since most documents are never a candidate; or, where the
 * job would pass its budget, they go to a file under temp_dir, and so do band keys if that is not
 * enough (corpus_parts.h). Which of the two changes no result: bm_corpus_compare and
 * bm_corpus_keyset answer the same. */
#pragma once

#include "base/threads.h"
#include "corpus/corpus_parts.h"
#include "lsh/verify.h"
#include "sign/ingest.h"

void bm_corpus_init(bm_corpus *corpus, const bm_corpus_cfg *cfg);
void bm_corpus_reset(bm_corpus *corpus);

/* --- adding --- */

/* Documents and what belongs to them, all at once. BM_ERR_NOMEM over cfg.memory; BM_ERR_IO. */
bm_status bm_corpus_add(bm_corpus *corpus, const bm_ingest_batch *batch, size_t first_row,
                        bm_error *err);

/* The same for an ingest: counts and places in order, keys and sets on any thread; sizes and copies
 * early. */
bm_ingest_sink bm_corpus_sink(bm_corpus *corpus);
bm_ingest_early bm_corpus_early(bm_corpus *corpus);

/* Documents that were signed before, with words but without text. */
typedef struct bm_signed_docs {
    size_t n;
    const uint32_t *words;      /* cfg.words.uints each */
    const uint64_t *keys;       /* cfg.bands each, side by side */
    const uint32_t *n_shingles; /* of each */
    const bm_hash128 *content;  /* of each; NULL: not known, so that none counts as identical */
} bm_signed_docs;

bm_status bm_corpus_add_words(bm_corpus *corpus, const bm_signed_docs *docs, bm_error *err);
/* A sink of hashes for documents that were signed before: their texts are read again, in the same
 * order. BM_ERR_FORMAT where they are other ones. */
bm_ingest_sink bm_corpus_hash_sink(bm_corpus *corpus);
/* Nothing more is added: frees what only adding needs. Again is fine. */
bm_status bm_corpus_end_adding(bm_corpus *corpus, bm_error *err);
/* Adding has ended, and keys are read back: columns that are read in any order lie in memory. Again
 * is fine. */
bm_status bm_corpus_begin_matching(bm_corpus *corpus, bm_error *err);
/* Move the sets to a file after all, adding having ended. */
bm_status bm_corpus_sets_to_file(bm_corpus *corpus, bm_error *err);

/* --- comparing --- */

/* Sort all sets that are not sorted yet, on all threads; sets are in memory. */
bm_status bm_corpus_sort_all(bm_corpus *corpus, bm_pool *pool, bm_error *err);

/* Fill in the similarity of each pair, on all threads; sets in a file are read back. `weighted` and
 * `words` of the rule come from the corpus. */
typedef struct bm_comparison {
    bm_similarity_rule rule;
    bm_pool *pool;
} bm_comparison;
bm_status bm_corpus_compare(bm_corpus *corpus, const bm_comparison *how, bm_pair *pairs, size_t n,
                            bm_error *err);

/* --- bytes written to files --- */

typedef struct bm_corpus_spilled {
    uint64_t set_bytes, key_bytes; /* of the files, once adding has ended; 0: there was none */
    uint64_t bytes_back;           /* of sets, read back */
} bm_corpus_spilled;

bm_corpus_spilled bm_corpus_spilled_bytes(const bm_corpus *corpus);

/* corpus_range -- the documents of a corpus a range at a time, each with its keys and its sorted
 * set at hand: for those who compare them with documents that the corpus does not hold.
 *
 * Before bm_corpus_end_adding. Copies and documents without shingles are left out. */

/* The documents of one range, at most: so many, or more if their keys and words take only that part
 * of the memory. */
#define BM_RANGE_ROWS 8192u
#define BM_RANGE_PART 4u

/* {0} before the first; the same memory serves range after range. */
typedef struct bm_corpus_range {
    size_t next;           /* the document that the next range begins with */
    size_t n;              /* documents in this one */
    uint32_t *docs;        /* their numbers, ascending */
    uint32_t *sizes;       /* distinct shingles of each */
    uint64_t *keys;        /* n * bands */
    const uint64_t **sets; /* hashes of each, ascending; where the corpus holds hashes */
    uint32_t *words;       /* n * perms; where it holds words */
    size_t cap, cap_keys, cap_words, cap_arena;
    uint64_t *arena; /* of sets that were read back */
} bm_corpus_range;

/* The documents from range->next on, of as many that their sets take `most` bytes, one at least.
 * BM_NOT_FOUND (and no error): there is none left. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT. */
bm_status bm_corpus_range_next(bm_corpus *corpus, uint64_t most, bm_pool *pool,
                               bm_corpus_range *range, bm_error *err);
void bm_corpus_range_reset(bm_corpus_range *range);
/* The set of one representative: sizes[row] hashes, ascending, or perms words. */
bm_status bm_corpus_copy_set(bm_set_reader *reader, size_t row, void *to, bm_error *err);

/* corpus_save -- a corpus that one process leaves and another takes up.
 *
 * Sets lie in one file of records (corpus_parts.h), which bm_corpus_save_sets brings up to date.
 * All other columns are handed out and taken back by the caller (checkpoint_state.h), a block of
 * documents at a time.
 *
 * A corpus that was restored has its sets in the file, whatever --memory would allow: no result
 * depends on that. Threads: one at a time, as for adding. */

/* False once band keys that went to a file are matched, or are about to be: they become labels, and
 * cannot be told again. */
static inline bool bm_corpus_can_save(const bm_corpus *corpus)
{
    return corpus->keys.state == BM_KEYS_IN_MEMORY ||
           (corpus->keys.state == BM_KEYS_IN_FILE && corpus->keys.file_bytes == 0);
}

/* The next n documents of a corpus that is restored. */
typedef struct bm_corpus_rows {
    size_t n;
    const bm_doc_row *docs;    /* for their sizes */
    const bm_hash128 *content; /* or, where nothing will be added any more, */
    const uint32_t *rep;       /* this; the other is NULL */
    const uint64_t *keys;      /* bands of each side by side; NULL without bands */
    const uint64_t *texts;     /* their places, where their sets are made again; else NULL */
} bm_corpus_rows;

/* After bm_corpus_restore_sets. BM_ERR_FORMAT where they do not fit what came before. */
bm_status bm_corpus_restore_rows(bm_corpus *corpus, const bm_corpus_rows *rows, bm_error *err);
/* All documents are there. BM_ERR_FORMAT: the file of sets belongs to other documents. */
bm_status bm_corpus_restore_end(bm_corpus *corpus, bm_error *err);
