/* SPDX-License-Identifier: Apache-2.0 */
/* two_sequences.h -- compares two texts as sequences: their edit distance, and their longest common
 * run. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

/* --- edit distance: how many characters must be inserted, deleted and replaced (Levenshtein;
 * two_sequences.c) --- */

/* A text as fewer than 2^32 code points. */
typedef struct bm_points {
    const uint32_t *points;
    size_t n;
} bm_points;

/* Set *distance to the exact edit distance of x and y. BM_ERR_NOMEM: 8 bytes are needed for each
 * code point of the longer text, and up to 30 for each of the shorter. */
bm_status bm_edit_distance(bm_points x, bm_points y, uint64_t *distance, bm_error *err);

/* --- the longest run of numbers that two lists have in common (two_sequences.c) --- */

typedef struct bm_common_run {
    size_t n;    /* 0: nothing is common */
    size_t a, b; /* index at which the run begins in each list */
} bm_common_run;

/* Find the longest common run. Of several such runs, choose the first in `a`, and its first
 * occurrence in `b`. Each list has fewer than 2^32 numbers. BM_ERR_NOMEM: up to 24 bytes a number
 * are needed. */
bm_status bm_common_run_find(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b,
                             bm_common_run *out, bm_error *err);
