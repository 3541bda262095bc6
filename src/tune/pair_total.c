/* pair_total.c -- the estimator of pair_total.h.
 *
 * Tests: tests/unit/tune/test_pair_total.c */
#include "tune/pair_total.h"

#include <math.h>

static double variance(const double *halves, size_t n, uint64_t n_docs)
{
    const double d = (double)n_docs;
    double mean = 0, squares = 0;
    if (n == n_docs || n == 0)
        return 0;
    if (n == 1)
        return INFINITY;
    for (size_t i = 0; i < n; i++)
        mean += halves[i];
    mean /= (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (halves[i] - mean) * (halves[i] - mean);
    return d * d * (1 - (double)n / d) * squares / ((double)n - 1) / (double)n;
}

bm_total bm_pair_total(const double *halves, size_t n, uint64_t n_docs)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += halves[i];
    return (bm_total){n > 0 ? sum * ((double)n_docs / (double)n) : 0,
                      sqrt(variance(halves, n, n_docs))};
}

bm_total bm_pair_total_rare(const double *halves, size_t n, uint64_t n_docs, double most)
{
    bm_total total = bm_pair_total(halves, n, n_docs);
    if (n == 0 || n == n_docs)
        return total;
    const double d = (double)n_docs, one = d / (double)n * most / 2;
    total.error = sqrt(total.error * total.error + one * one * (1 - (double)n / d));
    return total;
}
