/* SPDX-License-Identifier: Apache-2.0 */
/* intersect_scalar.c -- counts common elements of two sorted arrays, by a merge that does not
 * branch on their order, and by galloping.
 *
 * Which of two hashes is smaller cannot be predicted, so a merge that branches on it mispredicts
 * every other step. Here each step advances by the results of two comparisons. A step consumes at
 * most one element of each array. So as many steps as the shorter rest has elements need no bounds
 * check. After such a run of steps, the merge checks whether `least` can still be reached.
 *
 * Galloping: for each element of the shorter array, step ahead by 1, 2, 4 ... in the longer one,
 * then bisect. This costs n_short * log(n_long / n_short) instead of n_short + n_long.
 *
 * Tests: tests/unit/lsh/test_intersect.c */
#include "base/bisect.h"
#include "lsh/intersect_loops.h"

#define RUN 32u /* most steps between two bounds checks */

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool bm_intersect_merge(bm_sorted_set x, bm_sorted_set y, size_t least, size_t *common)
{
    size_t i = 0, j = 0, found = 0;
    for (;;) {
        size_t left = least_of(x.n - i, y.n - j);
        if (found + left < least)
            return false;
        if (left == 0)
            break;
        for (size_t steps = least_of(left, RUN); steps > 0; steps--) {
            uint64_t a = x.hashes[i], b = y.hashes[j];
            found += a == b;
            i += a <= b;
            j += b <= a;
        }
    }
    *common = found;
    return true;
}

/* Return the first index in from … n-1 at which the element of y is not below `value`, or n. */
static size_t gallop_to(const uint64_t *y, size_t from, size_t n, uint64_t value)
{
    size_t step = 1, low = from; /* all elements before `low` are below `value` */
    while (step <= n - low && y[low + step - 1] < value) {
        low += step;
        step *= 2;
    }
    /* y[b.high] and all later elements are not below `value` */
    bm_bisect b = {low, step <= n - low ? low + step - 1 : n};
    while (b.low < b.high)
        bm_bisect_go(&b, y[bm_middle(&b)] < value);
    return b.low;
}

bool bm_intersect_gallop(bm_sorted_set x, bm_sorted_set y, size_t least, size_t *common)
{
    if (x.n > y.n)
        return bm_intersect_gallop(y, x, least, common);
    size_t j = 0, found = 0;
    for (size_t i = 0; i < x.n; i++) {
        if (found + least_of(x.n - i, y.n - j) < least)
            return false;
        j = gallop_to(y.hashes, j, y.n, x.hashes[i]);
        if (j == y.n)
            break;
        found += y.hashes[j] == x.hashes[i];
    }
    *common = found;
    return found >= least;
}
