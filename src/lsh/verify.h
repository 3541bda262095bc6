/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h -- exact similarity of sorted distinct 64-bit hash sets: Jaccard, or containment. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "lsh/intersect_loops.h"

/* weighted_jaccard -- exact Jaccard similarity of weighted sets: the sum of the smaller weights
 * over the sum of the greater ones. */

/* n elements: hashes in ascending order, and the weight of each, above 0. */
typedef struct bm_weighted_set {
    const uint64_t *hashes;
    const double *weights;
    size_t n;
} bm_weighted_set;

/* sum min / sum max over all elements, in ascending order of their hashes; an element that a set
 * does not have weighs 0 there. This order of additions is the definition: the result has the same
 * bits for x, y and y, x, on every machine. 0 if both sets are empty. */
double bm_weighted_jaccard(bm_weighted_set x, bm_weighted_set y);
/* The weights of a set, added up in ascending order of the hashes. */
double bm_weighted_sum(bm_weighted_set set);

/* containment -- does one set contain a given share of another? Decided in whole numbers.
 *
 * A set of n hashes is held by another at the share C if the two have at least C n hashes in
 * common. C is a decimal such as .9. The nearest double is a little more or less, so C n in double
 * may just miss a whole number. The share is therefore stored as the fraction of whole numbers that
 * the decimal means. */

#define BM_SHARE_DECIMALS 15u /* decimals of up to so many digits have distinct doubles */

typedef struct bm_share {
    uint64_t above, below; /* the share is above / below; below is a power of ten up to 10^15 */
} bm_share;

/* Set *out to the decimal fraction whose nearest double is `share`. False: `share` is not in (0,
 * 1], or has more than BM_SHARE_DECIMALS decimals. */
bool bm_share_of(double share, bm_share *out);
/* The least number of hashes that is at least this share of n hashes. */
uint32_t bm_share_least(bm_share share, uint32_t n);
/* The Jaccard similarity of two sorted distinct sets if at least one of them is held by the other
 * at `share`; else a negative number, returned as soon as that is certain. */
double bm_jaccard_held(const uint64_t *x, uint32_t n_x, const uint64_t *y, uint32_t n_y,
                       bm_share share);

/* Sort n hashes ascending; repeats are allowed. n is below 2^32; `scratch` has room for n words. */
void bm_hashes_sort(uint64_t *hashes, size_t n, uint64_t *scratch);
/* Sorts one array after another, of any length below 2^32, on one thread. The scratch grows with
 * the arrays up to a limit; longer arrays are sorted with that much. {0} is ready for use. */
typedef struct bm_sorter {
    uint64_t *scratch; /* owned */
    size_t cap;        /* words of `scratch` */
    size_t most;       /* the limit of `cap`, at least 16; 0: BM_SORT_SCRATCH */
} bm_sorter;
#define BM_SORT_SCRATCH ((size_t)1 << 19)
/* BM_ERR_NOMEM. */
bm_status bm_sorter_sort(bm_sorter *sorter, uint64_t *hashes, size_t n, bm_error *err);
void bm_sorter_reset(bm_sorter *sorter);
/* Drop the repeats of a sorted array in place. Returns how many hashes are left. */
size_t bm_hashes_distinct(uint64_t *hashes, size_t n);
/* |x and y| of two sorted distinct sets. */
size_t bm_hashes_common(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y);
/* |and| / |or| in double; 0 if both sets are empty. */
double bm_jaccard(size_t common, size_t n_x, size_t n_y);
/* The inverse of bm_jaccard: the number of common hashes that gives this similarity. */
size_t bm_jaccard_common(double jaccard, size_t n_x, size_t n_y);
/* The least `common` with bm_jaccard(common, n_x, n_y) >= threshold; SIZE_MAX if even the whole
 * smaller set is not enough. */
size_t bm_jaccard_least_common(size_t n_x, size_t n_y, double threshold);

/* The least c with (double)c / (double)n >= threshold; n if there is none. A document of n shingles
 * must share that many to share a part of at least `threshold`. */
size_t bm_least_share(size_t n, double threshold);
/* The exact similarity, bm_jaccard of the hashes in common or, for BM_MEASURE_CONTAINMENT, |and| /
 * |smaller set|, if it is >= threshold; else a negative number, returned as soon as the rest of the
 * sets cannot reach the threshold. */
double bm_similarity_at_least(bm_measure measure, const uint64_t *x, size_t n_x, const uint64_t *y,
                              size_t n_y, double threshold);
