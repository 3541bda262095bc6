/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_runs.c -- finds the longest run by joining places with adjacent stretches, which are
 * found by bisection.
 *
 * Tests: tests/unit/parts/test_overlap_runs.c */
#include "parts/overlap_parts.h"

#include "base/bisect.h"

size_t bm_stretches_make(const uint64_t *places, size_t n, bm_stretch *out)
{
    size_t n_out = 0;
    for (size_t i = 0; i < n; i++) {
        if (n_out == 0 || out[n_out - 1].end != places[i])
            out[n_out++] = (bm_stretch){places[i], places[i]};
        out[n_out - 1].end++;
    }
    return n_out;
}

static bm_stretch better(bm_stretch x, bm_stretch y)
{
    const uint64_t a = x.end - x.first, b = y.end - y.first;
    return b > a || (b == a && y.first < x.first) ? y : x;
}

bm_stretch bm_stretches_longest(const bm_stretch *stretches, size_t n)
{
    bm_stretch longest = {0, 0};
    for (size_t i = 0; i < n; i++)
        longest = better(longest, stretches[i]);
    return longest;
}

bm_stretch bm_stretches_longest_with(const uint64_t *places, size_t n, const bm_stretch *stretches,
                                     size_t n_stretches, bm_stretch longest)
{
    bm_stretch run = {0, 0};
    for (size_t i = 0; i < n; i++) {
        const uint64_t place = places[i];
        bm_bisect b = {0, n_stretches}; /* the first stretch after the place */
        while (b.low < b.high)
            bm_bisect_go(&b, stretches[bm_middle(&b)].first < place);
        if (run.end != place || run.end == run.first) {
            const bool touches = b.low > 0 && stretches[b.low - 1].end == place;
            run.first = touches ? stretches[b.low - 1].first : place;
        }
        run.end = place + 1;
        if (b.low < n_stretches && stretches[b.low].first == run.end)
            run.end = stretches[b.low].end;
        longest = better(longest, run);
    }
    return longest;
}
