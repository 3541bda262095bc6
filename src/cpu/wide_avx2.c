/* SPDX-License-Identifier: Apache-2.0 */
/* wide_avx2.c -- bm_wide_loops with AVX2: 4 permutations a register. A 64-bit product is combined
 * from three 32-bit products, or from two if one factor has 32 bits. Lanes are compared as signed
 * numbers.
 *
 * Tests: tests/unit/cpu/test_wide_loops.c */
#include <immintrin.h>

#define LANES 4
#define GROUP 2
#define TURN  (UINT64_C(1) << 63)
#include "cpu/wide_lanes.h"

static inline __m256i low_product(u64_lanes x, u64_lanes y)
{
    return _mm256_mul_epu32((__m256i)x, (__m256i)y);
}

static inline u64_lanes product_narrow(u64_lanes a, u64_lanes h)
{
    return (u64_lanes)low_product(a, h) + ((u64_lanes)low_product(a >> 32, h) << 32);
}

static inline u64_lanes product(u64_lanes a, u64_lanes h)
{
    const u64_lanes cross = (u64_lanes)low_product(a >> 32, h) + (u64_lanes)low_product(a, h >> 32);
    return (u64_lanes)low_product(a, h) + (cross << 32);
}

static inline u64_lanes lesser(u64_lanes x, u64_lanes y)
{
    const __m256i greater = _mm256_cmpgt_epi64((__m256i)x, (__m256i)y);
    return (u64_lanes)_mm256_blendv_epi8((__m256i)x, (__m256i)y, greater);
}

static inline u64_lanes lesser_low(u64_lanes x, u64_lanes y)
{
    return (u64_lanes)_mm256_min_epu32((__m256i)x, (__m256i)y);
}

static inline u64_lanes reduced(u64_lanes sum)
{
    const __m256i least_above = _mm256_set1_epi64x((long long)BM_MERSENNE_61 - 1);
    const u64_lanes above = (u64_lanes)_mm256_cmpgt_epi64((__m256i)sum, least_above);
    return sum - (above & BM_MERSENNE_61);
}

const bm_wide_loops bm_wide_loops_avx2 = WIDE_LOOPS;
