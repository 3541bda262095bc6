/* SPDX-License-Identifier: Apache-2.0 */
/* wide_avx512.c -- bm_wide_loops with AVX-512: 8 permutations a register. DQ multiplies lanes of 64
 * bits, and a minimum of any kind is one instruction. For each register, a shingle costs 3
 * operations with affine64, and 8 with the prime.
 *
 * Tests: tests/unit/cpu/test_wide_loops.c */
#include <immintrin.h>

#define LANES 8
#define GROUP 4
#define TURN  0
#include "cpu/wide_lanes.h"

static inline u64_lanes product(u64_lanes a, u64_lanes h)
{
    return (u64_lanes)_mm512_mullo_epi64((__m512i)a, (__m512i)h);
}

static inline u64_lanes product_narrow(u64_lanes a, u64_lanes h)
{
    return product(a, h);
}

static inline u64_lanes lesser(u64_lanes x, u64_lanes y)
{
    return (u64_lanes)_mm512_min_epu64((__m512i)x, (__m512i)y);
}

static inline u64_lanes lesser_low(u64_lanes x, u64_lanes y)
{
    return (u64_lanes)_mm512_min_epu32((__m512i)x, (__m512i)y);
}

static inline u64_lanes reduced(u64_lanes sum)
{
    return lesser(sum, sum - BM_MERSENNE_61);
}

const bm_wide_loops bm_wide_loops_avx512 = WIDE_LOOPS;
