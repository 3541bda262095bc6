/* candidates.h -- documents that share a band key, each pair once.
 *
 * Keys are band-major: keys[band][doc], n_docs each. A band's documents are bucketed by a hash
 * table over its keys; the pairs of a bucket are emitted smaller number first. A pair is emitted in
 * the first band in which its keys agree and in no later one, which needs no memory of pairs:
 * earlier bands are simply looked at. Order: band, then the bucket by its first document, then a,
 * then b; it does not depend on threads. Documents whose `skip` bit is set (no shingles, copies)
 * are in no bucket. */
#ifndef BM_LSH_CANDIDATES_H
#define BM_LSH_CANDIDATES_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/pool.h"

typedef struct bm_band_keyset {
    uint32_t bands;
    size_t n_docs;
    const uint64_t *const *keys; /* bands arrays of n_docs */
    const uint8_t *skip;         /* n_docs bytes, non-zero: left out; NULL: none */
} bm_band_keyset;

/* Pairs in chunks of at most `chunk`; `fn` borrows them. The chunks do not depend on threads. */
typedef bm_status (*bm_candidates_fn)(void *ctx, bm_pair *pairs, size_t n, bm_error *err);
/* `pool` may be used for bucketing. bm_progress through callbacks (may be NULL), stage "bucket",
 * unit "bands". */
bm_status bm_candidates(const bm_band_keyset *keys, bm_pool *pool, size_t chunk,
                        bm_candidates_fn fn, void *ctx, const bm_callbacks *callbacks,
                        bm_error *err);

#endif
