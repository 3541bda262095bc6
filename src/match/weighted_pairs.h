/* SPDX-License-Identifier: Apache-2.0 */
/* weighted_pairs.h -- finds all pairs of weighted documents that reach the threshold, without
 * bands. */
#pragma once

#include "lsh/verify.h"
#include "match/edges.h"

/* weighted_index -- finds the documents of a block whose heaviest shingles include a given shingle.
 *
 * One thread builds the index. Afterwards any number of threads may read it. */

typedef struct bm_weighted_entry {
    uint64_t key; /* the mixed hash of the shingle */
    uint32_t doc; /* number of the document in the block: 0, 1, 2 … */
} bm_weighted_entry;

typedef struct bm_weighted_index {
    uint32_t n_docs;
    double *sums; /* for each document: sum of its weights */
    size_t cap_docs;
    bm_weighted_entry *entries; /* after building: grouped by the leading bits of their keys */
    size_t n, cap;
    size_t *starts; /* 2^bits + 1 elements are used: where the entries of each bucket begin */
    unsigned bits;
} bm_weighted_index; /* start with {0} */

/* approximate bytes of an entry */
#define BM_WEIGHTED_ENTRY (2 * sizeof(bm_weighted_entry) + 2 * sizeof(size_t))

/* bytes of scratch memory for each element of a set */
#define BM_WEIGHTED_SCRATCH (2 * sizeof(uint64_t))

/* Find the edges of a corpus with weighted sets, which must be complete. Sets may be in memory or
 * in a file. Which pairs are compared does not depend on threads or memory. */
bm_status bm_match_weighted_pairs(bm_match *match, bm_error *err);
