/* SPDX-License-Identifier: Apache-2.0 */
/* intersect_avx2.c -- counts common hashes in blocks of four, like intersect_avx512.c with narrower
 * registers.
 *
 * Each of four hashes of x is compared with each of four of y (four compares, three permutations
 * across lanes). Then the loop advances past the block with the smaller last element. If the last
 * elements are equal, it advances past both blocks. The last, incomplete blocks are left to the
 * scalar merge.
 *
 * Tests: tests/unit/lsh/test_intersect.c */
#include "lsh/intersect_loops.h"

#include <immintrin.h>

#define LANES 4u

static __m256i load(const uint64_t *v)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)v);
}

static size_t matches(__m256i a, __m256i b)
{
    __m256i m0 = _mm256_cmpeq_epi64(a, b);
    __m256i m1 = _mm256_cmpeq_epi64(a, _mm256_permute4x64_epi64(b, 0x39)); /* 1 2 3 0 */
    __m256i m2 = _mm256_cmpeq_epi64(a, _mm256_permute4x64_epi64(b, 0x4E)); /* 2 3 0 1 */
    __m256i m3 = _mm256_cmpeq_epi64(a, _mm256_permute4x64_epi64(b, 0x93)); /* 3 0 1 2 */
    __m256i any = _mm256_or_si256(_mm256_or_si256(m0, m1), _mm256_or_si256(m2, m3));
    unsigned mask = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(any));
    return (size_t)__builtin_popcount(mask);
}

bool bm_intersect_avx2(bm_sorted_set x, bm_sorted_set y, size_t least, size_t *common)
{
    size_t i = 0, j = 0, found = 0;
    while (x.n - i >= LANES && y.n - j >= LANES) {
        size_t left = x.n - i < y.n - j ? x.n - i : y.n - j;
        if (found + left < least)
            return false;
        found += matches(load(x.hashes + i), load(y.hashes + j));
        uint64_t last_x = x.hashes[i + LANES - 1], last_y = y.hashes[j + LANES - 1];
        i += last_x <= last_y ? LANES : 0;
        j += last_y <= last_x ? LANES : 0;
    }
    bm_sorted_set rest_x = {x.hashes + i, x.n - i}, rest_y = {y.hashes + j, y.n - j};
    size_t rest = 0, needed = least > found ? least - found : 0;
    if (!bm_intersect_merge(rest_x, rest_y, needed, &rest))
        return false;
    *common = found + rest;
    return true;
}
