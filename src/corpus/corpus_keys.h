/* corpus_keys.h -- the band keys of a corpus: columns in memory, or blocks in a file that come back
 * as labels.
 *
 *     state            changed by
 *     IN_MEMORY
 *     GOING_TO_FILE    bm_corpus_move_keys       columns become blocks of the file
 *     IN_FILE          bm_corpus_keys_end        the last block is written
 *     AS_LABELS        bm_corpus_keyset          bands read back, one by one; the file is gone
 *
 * Each state follows the one above it, or the job ends before; keys that were made elsewhere go from
 * the first to the last where they are in memory. Which of them changes no result.
 * Threads: one at a time, but for bm_corpus_put_keys. */
#ifndef BM_CORPUS_CORPUS_KEYS_H
#define BM_CORPUS_CORPUS_KEYS_H

#include "lsh/band_keyset.h"
#include "corpus/corpus_parts.h"

/* Columns for `cap` documents, where keys are in memory. */
bm_status bm_corpus_keys_grow(bm_corpus *corpus, size_t cap, bm_error *err);
/* The keys of n documents from `first`, bands of each side by side, where they go to a file. */
bm_status bm_corpus_add_keys(bm_corpus *corpus, const uint64_t *keys, size_t n, bm_error *err);
/* The same, where they are in memory: any thread; the columns do not move meanwhile. */
void bm_corpus_put_keys(const bm_corpus *corpus, const uint64_t *keys, size_t first, size_t n);
/* From memory to a file. BM_OK where there are no keys, or they went before. */
bm_status bm_corpus_move_keys(bm_corpus *corpus, uint64_t input_bytes_read, bm_error *err);
/* Adding has ended: write what is buffered. Again is fine. */
bm_status bm_corpus_keys_end(bm_corpus *corpus, bm_error *err);
void bm_corpus_keys_reset(bm_corpus *corpus);

/* All keys, for the search for candidates; as labels where they are in a file. Adding has ended. */
bm_status bm_corpus_keyset(bm_corpus *corpus, bm_pool *pool, bm_band_keyset *out, bm_error *err);

/* The keys of n documents from `first`, bands of each side by side: n * bands. In memory, or going
 * to a file. */
bm_status bm_corpus_copy_keys(const bm_corpus *corpus, size_t first, size_t n, uint64_t *to,
                              bm_error *err);

#endif
