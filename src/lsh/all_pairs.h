/* all_pairs.h -- every pair that shares a shingle and reaches the threshold: exact, without LSH
 * (--candidates all). */
#ifndef BM_LSH_ALL_PAIRS_H
#define BM_LSH_ALL_PAIRS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/pool.h"
#include "lsh/candidates.h"

/* Documents as sorted distinct hash sets: docs[i] points at sizes[i] hashes. skip as in
 * bm_band_keyset. Pairs with their exact similarity >= threshold (above 0, at most 1; BM_ERR_USAGE
 * otherwise), ordered by a, then b, in chunks of at most 65,536 that do not depend on threads.
 * *n_compared (may be NULL): pairs whose sets were compared, which is every pair that shares one of
 * its rarest shingles and is not ruled out by the two sizes and the places of that shingle. `pool`
 * may be NULL; `fn` is called between uses of it. Stage "compare", unit "documents". */
bm_status bm_all_pairs(const uint64_t *const *docs, const uint32_t *sizes, const uint8_t *skip,
                       size_t n_docs, double threshold, bm_pool *pool, bm_candidates_fn fn,
                       void *ctx, uint64_t *n_compared, const bm_callbacks *callbacks,
                       bm_error *err);

#endif
