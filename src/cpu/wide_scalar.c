/* SPDX-License-Identifier: Apache-2.0 */
/* wide_scalar.c -- bm_wide_loops for any processor. Two permutations are computed at a time, and
 * the compiler chooses the instructions.
 *
 * Tests: tests/unit/cpu/test_wide_loops.c */
#define LANES 2
#define GROUP 4
#define TURN  0
#include "cpu/wide_lanes.h"

static inline u64_lanes product(u64_lanes a, u64_lanes h)
{
    return a * h;
}

static inline u64_lanes product_narrow(u64_lanes a, u64_lanes h)
{
    return a * h;
}

static inline u64_lanes lesser(u64_lanes x, u64_lanes y)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        x[lane] = y[lane] < x[lane] ? y[lane] : x[lane];
    return x;
}

static inline u64_lanes lesser_low(u64_lanes x, u64_lanes y)
{
    return lesser(x & UINT32_MAX, y & UINT32_MAX);
}

static inline u64_lanes reduced(u64_lanes sum)
{
    return lesser(sum, sum - BM_MERSENNE_61);
}

const bm_wide_loops bm_wide_loops_scalar = WIDE_LOOPS;
