/* SPDX-License-Identifier: Apache-2.0 */
/* two_sequences.h -- two texts as sequences, compared in order: their edit distance, and the
 * longest run that both have. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

/* --- how many characters must be inserted, deleted and replaced: the distance of Levenshtein
 * (two_sequences.c) --- */

/* A text as code points; fewer than 2^32. */
typedef struct bm_points {
    const uint32_t *points;
    size_t n;
} bm_points;

/* Set *distance to the exact distance of the two. BM_ERR_NOMEM: 8 bytes a code point of the longer
 * are needed, and up to 30 of the shorter. */
bm_status bm_edit_distance(bm_points x, bm_points y, uint64_t *distance, bm_error *err);

/* --- the longest run of numbers that is in two lists (two_sequences.c) --- */

typedef struct bm_common_run {
    size_t n;    /* 0: nothing is common */
    size_t a, b; /* where it begins in each */
} bm_common_run;

/* Find the longest common run: of several the first in `a`, at its first place in `b`. Each list
 * has fewer than 2^32. BM_ERR_NOMEM: 24 bytes a number are needed. */
bm_status bm_common_run_find(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b,
                             bm_common_run *out, bm_error *err);
