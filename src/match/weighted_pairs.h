/* SPDX-License-Identifier: Apache-2.0 */
/* weighted_pairs.h -- finds all pairs of weighted documents that reach the threshold, without
 * bands. */
#pragma once

#include "lsh/verify.h"
#include "match/edges.h"

/* weighted_index -- finds the documents of a block that have a given shingle among their heaviest
 * ones.
 *
 * Threads: one builds; then any number may look up. */

typedef struct bm_weighted_entry {
    uint64_t key; /* the mixed hash of the shingle */
    uint32_t doc; /* number in the block: 0, 1, 2 … */
} bm_weighted_entry;

typedef struct bm_weighted_index {
    uint32_t n_docs;
    double *sums; /* sum of the weights of each document */
    size_t cap_docs;
    bm_weighted_entry *entries; /* once built: sorted by the leading bits of their keys */
    size_t n, cap;
    size_t *starts; /* 2^bits + 1 */
    unsigned bits;
} bm_weighted_index; /* {0} is empty */

#define BM_WEIGHTED_ENTRY (2 * sizeof(bm_weighted_entry) + 2 * sizeof(size_t)) /* about, in bytes */

#define BM_WEIGHTED_SCRATCH (2 * sizeof(uint64_t)) /* bytes of scratch for an element */

/* The corpus must be complete and have weighted sets, in memory or in a file. The compared pairs
 * depend on neither threads nor memory. */
bm_status bm_match_weighted_pairs(bm_match *match, bm_error *err);
