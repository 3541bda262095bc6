/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h -- exact similarity of sorted distinct 64-bit hash sets: Jaccard, or containment. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "lsh/intersect_loops.h"

/* intersect -- how many elements two sorted sets of hashes have in common: the loop under
 * verify.c. */

/* Returns true and *common = |x and y| if that is at least `least`; else false, and *common is
 * undefined. Chooses the fastest loop for these sizes and this processor; the answer does not
 * depend on it. */
bool bm_intersect(bm_sorted_set x, bm_sorted_set y, size_t least, size_t *common);

/* weighted_jaccard -- exact Jaccard similarity of weighted sets: the sum of the smaller weights
 * over the sum of the greater ones. */

/* n elements: hashes in ascending order, and beside them their weights, all above 0. */
typedef struct bm_weighted_set {
    const uint64_t *hashes;
    const double *weights;
    size_t n;
} bm_weighted_set;

/* sum min / sum max over the elements, in ascending order of their hashes, where a missing element
 * weighs 0. These additions, in this order, are the definition: the same bits
 * for x, y and y, x, on every machine. 0 where both are empty. */
double bm_weighted_jaccard(bm_weighted_set x, bm_weighted_set y);
/* The weights of a set, added up in ascending order of the hashes. */
double bm_weighted_sum(bm_weighted_set set);

/* containment -- does one set hold a given share of another? Decided in whole numbers.
 *
 * A set of n hashes is held by another at the share C when the two have at least C n hashes in
 * common. C is a decimal such as .9; the nearest double is a little more or less, so C n in double
 * may miss a whole number. The share is therefore kept as the fraction of whole numbers that the
 * decimal stands for. */

#define BM_SHARE_DECIMALS 15u /* decimals up to this length have distinct doubles */

typedef struct bm_share {
    uint64_t above, below; /* below: a power of ten up to 10^15 */
} bm_share;

/* The decimal fraction that was rounded to this double. False: it is not in (0, 1], or has more
 * decimals. */
bool bm_share_of(double share, bm_share *out);
/* How many of n hashes reach the share; at least 1. */
uint32_t bm_share_least(bm_share share, uint32_t n);
/* The Jaccard similarity of two sorted distinct sets if at least one of them is held by the other;
 * else a negative number, as soon as that is certain. */
double bm_jaccard_held(const uint64_t *x, uint32_t n_x, const uint64_t *y, uint32_t n_y,
                       bm_share share);

/* Sort a document's hashes ascending (repeats are allowed); scratch of n words, n below 2^32. */
void bm_hashes_sort(uint64_t *hashes, size_t n, uint64_t *scratch);
/* The same for one set after another, of any length, on one thread. The scratch grows with the sets
 * up to `most` words; a longer set is sorted with that many. {0} is ready for use. */
typedef struct bm_sorter {
    uint64_t *scratch; /* owned */
    size_t cap;        /* words of it */
    size_t most;       /* 0: BM_SORT_SCRATCH; else at least 16 */
} bm_sorter;
#define BM_SORT_SCRATCH ((size_t)1 << 19)
/* BM_ERR_NOMEM. */
bm_status bm_sorter_sort(bm_sorter *sorter, uint64_t *hashes, size_t n, bm_error *err);
void bm_sorter_reset(bm_sorter *sorter);
/* Drop the repeats of a sorted array in place. Returns how many are left. */
size_t bm_hashes_distinct(uint64_t *hashes, size_t n);
/* |x and y| of two sorted distinct sets. */
size_t bm_hashes_common(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y);
/* |and| / |or| in double; 0 where both are empty. */
double bm_jaccard(size_t common, size_t n_x, size_t n_y);
/* The inverse: the number of common hashes from which bm_jaccard made this similarity. */
size_t bm_jaccard_common(double jaccard, size_t n_x, size_t n_y);
/* The least number of common hashes with bm_jaccard(number, n_x, n_y) >= threshold; SIZE_MAX where
 * even the whole smaller set is not enough. */
size_t bm_jaccard_least_common(size_t n_x, size_t n_y, double threshold);
/* The exact similarity, bm_jaccard(bm_hashes_common(x, y)), if it is >= threshold; else a negative
 * number, as soon as the rest of the sets cannot reach the threshold. */
double bm_jaccard_at_least(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y,
                           double threshold);

/* The least c with (double)c / (double)n >= threshold, n if there is none: how many of its n
 * shingles a document must share, so that they are a share of `threshold`. */
size_t bm_least_share(size_t n, double threshold);
/* bm_jaccard_at_least, or the same for containment. */
double bm_similarity_at_least(bm_measure measure, const uint64_t *x, size_t n_x, const uint64_t *y,
                              size_t n_y, double threshold);
