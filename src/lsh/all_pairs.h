/* all_pairs.h -- every pair that shares a shingle and reaches the threshold: exact, without LSH
 * (--candidates all). */
#ifndef BM_LSH_ALL_PAIRS_H
#define BM_LSH_ALL_PAIRS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/pool.h"
#include "lsh/candidates.h"

/* Documents as sorted distinct hash sets: docs[i] points at sizes[i] hashes. skip as in
 * bm_band_keyset. Pairs with their exact similarity >= threshold > 0, ordered by a, then b, in
 * chunks. *n_compared (may be NULL): pairs that shared a shingle. */
bm_status bm_all_pairs(const uint64_t *const *docs, const uint32_t *sizes, const uint8_t *skip,
                       size_t n_docs, double threshold, bm_pool *pool, bm_candidates_fn fn,
                       void *ctx, uint64_t *n_compared, const bm_callbacks *callbacks,
                       bm_error *err);

#endif
