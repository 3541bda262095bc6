/* candidates_job.h -- what a search for candidates is given, and what it counts. */
#ifndef BM_LSH_CANDIDATES_JOB_H
#define BM_LSH_CANDIDATES_JOB_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/pool.h"
#include "lsh/band_keyset.h"
#include "lsh/union_find.h"

/* Takes a chunk of pairs, which it borrows and may write to. What is not BM_OK ends the search,
 * which returns it. */
typedef bm_status (*bm_candidates_fn)(void *ctx, bm_pair *pairs, size_t n, bm_error *err);

typedef struct bm_candidates_job {
    const bm_band_keyset *keys;
    bm_pool *pool; /* for bucketing; NULL: this thread alone */
    size_t chunk;  /* pairs handed to `fn` at a time, at most; 0: a default */
    bm_candidates_fn fn;
    void *ctx;
    const bm_callbacks *callbacks; /* NULL: none */
    bm_union_find *groups;         /* for bm_candidates_join only: borrowed, n_docs */
    /* Asked before so many bytes are allocated for crowded buckets; anything but BM_OK ends the work
     * with that. NULL: not asked. */
    bm_status (*reserve)(void *ctx, uint64_t bytes, bm_error *err);
} bm_candidates_job;

typedef struct bm_join_stats {
    uint64_t n_cut;          /* buckets of which not every pair was looked at */
    uint64_t n_not_compared; /* their pairs that were neither compared nor joined, at most: a pair
                                that was compared for another band may be among them */
} bm_join_stats;

#endif
