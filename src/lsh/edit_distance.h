/* edit_distance.h -- the Levenshtein distance of two texts: how many characters must be inserted, deleted and replaced. */
#ifndef BM_LSH_EDIT_DISTANCE_H
#define BM_LSH_EDIT_DISTANCE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* A text as code points; fewer than 2^32. */
typedef struct bm_points {
    const uint32_t *points;
    size_t n;
} bm_points;

/* *distance of the two, exactly. BM_ERR_NOMEM: 8 bytes a code point of the longer are needed, and 24 of the shorter. */
bm_status bm_edit_distance(bm_points x, bm_points y, uint64_t *distance, bm_error *err);

#endif
