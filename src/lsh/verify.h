/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h -- computes the exact similarity of sets of 64-bit hashes, sorted and distinct: Jaccard,
 * or containment. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "lsh/intersect_loops.h"

/* weighted_jaccard -- computes the exact Jaccard similarity of weighted sets: the sum of the
 * smaller weights, divided by the sum of the greater weights. */

/* n elements: hashes in ascending order, and the weight of each, above 0. */
typedef struct bm_weighted_set {
    const uint64_t *hashes;
    const double *weights;
    size_t n;
} bm_weighted_set;

/* Return sum min / sum max over all elements, in ascending order of their hashes. If a set does not
 * have an element, its weight there is 0. The order of additions is part of the definition, so that
 * the result has the same bits for x, y and y, x, on every machine. 0 if both sets are empty. */
double bm_weighted_jaccard(bm_weighted_set x, bm_weighted_set y);
/* The weights of a set, added up in ascending order of the hashes. */
double bm_weighted_sum(bm_weighted_set set);

/* containment -- decides in whole numbers whether a set contains a given share of another.
 *
 * A set of n hashes is "held" by another set at the share C if the two have at least C n hashes in
 * common. C is a decimal such as .9. The nearest double is a little more or less, so C n in double
 * may just miss a whole number. The share is therefore stored as the fraction of whole numbers that
 * the decimal means. */

#define BM_SHARE_DECIMALS 15u /* decimals of up to this many digits have distinct doubles */

typedef struct bm_share {
    uint64_t above, below; /* the share is above / below; below is a power of ten up to 10^15 */
} bm_share;

/* Set *out to the decimal fraction whose nearest double is `share`. Returns false if `share` is not
 * in (0, 1], or has more than BM_SHARE_DECIMALS decimals. */
bool bm_share_of(double share, bm_share *out);
/* Return the least number of hashes that is at least this share of n hashes. */
uint32_t bm_share_least(bm_share share, uint32_t n);
/* Return the Jaccard similarity of two sorted distinct sets if at least one of them is held by the
 * other at `share`. Otherwise return a negative number, as soon as this is certain. */
double bm_jaccard_held(const uint64_t *x, uint32_t n_x, const uint64_t *y, uint32_t n_y,
                       bm_share share);

/* Sort n hashes ascending; repeats are allowed. n is below 2^32; `scratch` has room for n words. */
void bm_hashes_sort(uint64_t *hashes, size_t n, uint64_t *scratch);
/* Sorts one array after another, each of any length below 2^32, on one thread. The scratch grows
 * with the arrays up to a limit. Longer arrays are sorted with scratch of that size. {0} is ready
 * for use. */
typedef struct bm_sorter {
    uint64_t *scratch; /* owned */
    size_t cap;        /* words of `scratch` */
    size_t most;       /* the limit of `cap`, at least 16; 0: BM_SORT_SCRATCH */
} bm_sorter;
#define BM_SORT_SCRATCH ((size_t)1 << 19)
/* Sort n hashes in ascending order. BM_ERR_NOMEM. */
bm_status bm_sorter_sort(bm_sorter *sorter, uint64_t *hashes, size_t n, bm_error *err);
void bm_sorter_reset(bm_sorter *sorter);
/* Drop the repeats of a sorted array in place. Returns how many hashes are left. */
size_t bm_hashes_distinct(uint64_t *hashes, size_t n);
/* The size of the intersection of two sorted distinct sets. */
size_t bm_hashes_common(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y);
/* |and| / |or| in double; 0 if both sets are empty. */
double bm_jaccard(size_t common, size_t n_x, size_t n_y);
/* The inverse of bm_jaccard: the number of common hashes that gives this similarity. */
size_t bm_jaccard_common(double jaccard, size_t n_x, size_t n_y);
/* Return the least `common` with bm_jaccard(common, n_x, n_y) >= threshold, or SIZE_MAX if even the
 * whole smaller set is not enough. */
size_t bm_jaccard_least_common(size_t n_x, size_t n_y, double threshold);

/* Return the least c with (double)c / (double)n >= threshold, or n if there is none. To share a
 * part of at least `threshold`, a document of n shingles must share c shingles. */
size_t bm_least_share(size_t n, double threshold);
/* Return the similarity if it is >= threshold, else a negative number. The similarity is bm_jaccard
 * of the hashes in common or, for BM_MEASURE_CONTAINMENT, |and| / |smaller set|. The comparison
 * ends as soon as the remaining hashes cannot be enough. */
double bm_similarity_at_least(bm_measure measure, const uint64_t *x, size_t n_x, const uint64_t *y,
                              size_t n_y, double threshold);
