/* candidate_walk.h -- the walk over buckets that candidates.c, bucket_join.c and crowded_buckets.c
 * share: the band and the bucket at hand, and the chunk of pairs that is being filled. For these, and
 * for who walks stars. */
#ifndef BM_LSH_CANDIDATE_WALK_H
#define BM_LSH_CANDIDATE_WALK_H

#include <math.h>

#include "lsh/candidates_job.h"

typedef struct bm_candidate_walk {
    bm_candidates_job job; /* a copy; job.groups NULL: every pair is wanted */
    uint32_t band;
    uint32_t *members; /* of the bucket at hand */
    size_t n_members, cap_members;
    bm_pair *pairs; /* the chunk: room for job.chunk */
    size_t n_pairs;
} bm_candidate_walk;

/* BM_ERR_CANCELLED where the caller wants to stop. */
bm_status bm_candidate_walk_check(const bm_candidate_walk *walk, bm_error *err);
/* Hand the chunk to job.fn unless it is empty. BM_ERR_CANCELLED likewise. */
bm_status bm_candidate_walk_flush(bm_candidate_walk *walk, bm_error *err);

/* Do the keys of a and b agree in a band before `end` other than `but`? */
static inline bool bm_candidate_walk_met(const bm_candidate_walk *walk, uint32_t end, uint32_t but,
                                         uint32_t a, uint32_t b)
{
    const bm_band_keyset *keys = walk->job.keys;
    for (uint32_t band = 0; band < end; band++)
        if (band != but && bm_band_keyset_at(keys, band, a) == bm_band_keyset_at(keys, band, b))
            return true;
    return false;
}

static inline bool bm_candidate_walk_joined(const bm_candidate_walk *walk, uint32_t a, uint32_t b)
{
    return bm_union_find_root(walk->job.groups, a) == bm_union_find_root(walk->job.groups, b);
}

static inline bm_status bm_candidate_walk_emit(bm_candidate_walk *walk, uint32_t a, uint32_t b,
                                               bm_error *err)
{
    walk->pairs[walk->n_pairs++] =
        (bm_pair){.a = a < b ? a : b, .b = a < b ? b : a, .similarity = NAN};
    return walk->n_pairs < walk->job.chunk ? BM_OK : bm_candidate_walk_flush(walk, err);
}

#endif
