/* weighted_jaccard.h -- exact Jaccard similarity of weighted sets: the sum of the smaller weights over
 * the sum of the greater ones. */
#ifndef BM_LSH_WEIGHTED_JACCARD_H
#define BM_LSH_WEIGHTED_JACCARD_H

#include <bandmill/status.h>
#include <bandmill/types.h>

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

#endif
