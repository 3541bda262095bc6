/* candidates.h -- documents that share a band key, each pair once.
 *
 * Keys are band-major: keys[band][doc], n_docs each. A band's documents are bucketed by a hash
 * table over its keys; pairs are emitted smaller number first. A pair is emitted in the first band
 * in which its keys agree and in no later one, which needs no memory of pairs: earlier bands are
 * simply looked at. Documents whose `skip` bit is set (no shingles, copies) are in no bucket.
 *
 * bm_candidates emits every pair; order: band, then the bucket by its first document, then a, then
 * b. bm_candidates_join emits what is needed to know the connected components of the pairs that
 * `fn` verifies: a pair whose documents are already joined is left out, and a bucket costs time
 * linear in its size (bucket_join.h). Neither order depends on threads. */
#ifndef BM_LSH_CANDIDATES_H
#define BM_LSH_CANDIDATES_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/pool.h"
#include "lsh/union_find.h"

typedef struct bm_band_keyset {
    uint32_t bands;
    size_t n_docs;
    const uint64_t *const *keys; /* bands arrays of n_docs */
    const uint8_t *skip;         /* n_docs bytes, non-zero: left out; NULL: none */
    /* Instead of keys, half as large: each document's label is the first document that has the same
     * key in that band (bm_band_buckets_label). The same pairs in the same order. NULL: keys. */
    const uint32_t *const *labels;
} bm_band_keyset;

/* What documents of one bucket have in common. */
static inline uint64_t bm_band_keyset_at(const bm_band_keyset *keys, uint32_t band, uint32_t doc)
{
    return keys->labels != NULL ? keys->labels[band][doc] : keys->keys[band][doc];
}

/* Pairs in chunks of at most `chunk`; `fn` borrows them. The chunks do not depend on threads. */
typedef bm_status (*bm_candidates_fn)(void *ctx, bm_pair *pairs, size_t n, bm_error *err);
/* `pool` may be used for bucketing. bm_progress through callbacks (may be NULL), stage "bucket",
 * unit "bands". */
bm_status bm_candidates(const bm_band_keyset *keys, bm_pool *pool, size_t chunk,
                        bm_candidates_fn fn, void *ctx, const bm_callbacks *callbacks,
                        bm_error *err);

typedef struct bm_join_stats {
    uint64_t n_cut;          /* buckets of which not every pair was looked at */
    uint64_t n_not_compared; /* their pairs that were neither compared nor joined, at most: a pair
                                that was compared for another band may be among them */
} bm_join_stats;

typedef struct bm_join_job {
    const bm_band_keyset *keys;
    bm_pool *pool; /* for bucketing; NULL: none */
    size_t chunk;  /* 0: a default */
    bm_candidates_fn fn;
    void *ctx;
    bm_union_find *groups; /* borrowed, n_docs */
    const bm_callbacks *callbacks;
    /* Asked before scratch of so many bytes is allocated for a crowded bucket; anything but BM_OK
     * ends the work with that. NULL: not asked. */
    bm_status (*reserve)(void *ctx, uint64_t bytes, bm_error *err);
} bm_join_job;

/* As bm_candidates, for components: before it returns, `fn` links in `groups` the documents of each
 * pair that it accepts. Where stats->n_cut is 0 afterwards, the components are those of all
 * candidates. 4 bytes a document more while a bucket of over 32 is at hand, and about 40 bytes a
 * document of that bucket. `stats` may be NULL. */
bm_status bm_candidates_join(const bm_join_job *job, bm_join_stats *stats, bm_error *err);

#endif
