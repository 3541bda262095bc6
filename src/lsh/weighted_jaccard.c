/* weighted_jaccard.c -- one merge of two sorted lists, two sums.
 *
 * Pure functions; any thread.
 *
 * Tests: tests/unit/lsh/test_weighted_jaccard.c */
#include "lsh/weighted_jaccard.h"

double bm_weighted_jaccard(bm_weighted_set x, bm_weighted_set y)
{
    const double *of_x = x.weights, *of_y = y.weights;
    double both = 0, either = 0;
    size_t i = 0, j = 0;
    while (i < x.n && j < y.n) {
        if (x.hashes[i] < y.hashes[j]) {
            either += of_x[i++];
        } else if (x.hashes[i] > y.hashes[j]) {
            either += of_y[j++];
        } else {
            const double a = of_x[i++], b = of_y[j++];
            both += a < b ? a : b;
            either += a < b ? b : a;
        }
    }
    while (i < x.n)
        either += of_x[i++];
    while (j < y.n)
        either += of_y[j++];
    return either > 0 ? both / either : 0;
}

double bm_weighted_sum(bm_weighted_set set)
{
    double sum = 0;
    for (size_t i = 0; i < set.n; i++)
        sum += set.weights[i];
    return sum;
}
