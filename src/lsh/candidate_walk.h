/* candidate_walk.h -- what candidates.c and bucket_join.c share: the band at hand and the chunk of
 * pairs that is being filled. Not for other rooms. */
#ifndef BM_LSH_CANDIDATE_WALK_H
#define BM_LSH_CANDIDATE_WALK_H

#include <math.h>

#include "lsh/candidates.h"

typedef struct bm_candidate_walk {
    const bm_band_keyset *keys;
    uint32_t band;
    uint32_t *members; /* of the bucket at hand */
    size_t n_members, cap_members;
    bm_pair *pairs;
    size_t n_pairs, chunk;
    bm_candidates_fn fn;
    void *ctx;
    const bm_callbacks *callbacks;
    bm_union_find *groups;                                          /* NULL: every pair is wanted */
    bm_status (*reserve)(void *ctx, uint64_t bytes, bm_error *err); /* of bm_join_job */
} bm_candidate_walk;

/* BM_ERR_CANCELLED where the caller wants to stop. */
bm_status bm_candidate_walk_check(const bm_candidate_walk *walk, bm_error *err);
/* Hand the chunk over, empty or not. */
bm_status bm_candidate_walk_flush(bm_candidate_walk *walk, bm_error *err);

/* Do their keys agree in a band before `end`, `but` left aside? */
static inline bool bm_candidate_walk_met(const bm_candidate_walk *walk, uint32_t end, uint32_t but,
                                         uint32_t a, uint32_t b)
{
    const bm_band_keyset *keys = walk->keys;
    for (uint32_t band = 0; band < end; band++)
        if (band != but && bm_band_keyset_at(keys, band, a) == bm_band_keyset_at(keys, band, b))
            return true;
    return false;
}

static inline bool bm_candidate_walk_joined(const bm_candidate_walk *walk, uint32_t a, uint32_t b)
{
    return bm_union_find_root(walk->groups, a) == bm_union_find_root(walk->groups, b);
}

static inline bm_status bm_candidate_walk_emit(bm_candidate_walk *walk, uint32_t a, uint32_t b,
                                               bm_error *err)
{
    walk->pairs[walk->n_pairs++] =
        (bm_pair){.a = a < b ? a : b, .b = a < b ? b : a, .similarity = NAN};
    return walk->n_pairs < walk->chunk ? BM_OK : bm_candidate_walk_flush(walk, err);
}

#endif
