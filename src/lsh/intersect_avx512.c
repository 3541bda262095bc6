/* SPDX-License-Identifier: Apache-2.0 */
/* intersect_avx512.c -- counts common hashes in blocks of eight.
 *
 *     x  [ a0 a1 a2 a3 a4 a5 a6 a7 ] …     y  [ b0 … b7 ] …
 *
 * Each of the eight hashes of x is compared with each of the eight of y: eight compares, y rotated
 * by one lane between them (valignq, one operation each), and the masks or-ed. Then the loop
 * advances past the block with the smaller last element. If the last elements are equal, it
 * advances past both blocks. Hashes are distinct within a set, so every equal pair meets in exactly
 * one pair of blocks. About 20 operations consume eight or sixteen elements. The scalar merge needs
 * six to seven dependent cycles to consume one or two. The last, incomplete blocks are left to the
 * scalar merge.
 *
 * Tests: tests/unit/lsh/test_intersect.c */
#include "lsh/intersect_loops.h"

#include <immintrin.h>

#define LANES 8u

static size_t matches(__m512i a, __m512i b)
{
    __mmask8 m0 = _mm512_cmpeq_epi64_mask(a, b);
    __mmask8 m1 = _mm512_cmpeq_epi64_mask(a, _mm512_alignr_epi64(b, b, 1));
    __mmask8 m2 = _mm512_cmpeq_epi64_mask(a, _mm512_alignr_epi64(b, b, 2));
    __mmask8 m3 = _mm512_cmpeq_epi64_mask(a, _mm512_alignr_epi64(b, b, 3));
    __mmask8 m4 = _mm512_cmpeq_epi64_mask(a, _mm512_alignr_epi64(b, b, 4));
    __mmask8 m5 = _mm512_cmpeq_epi64_mask(a, _mm512_alignr_epi64(b, b, 5));
    __mmask8 m6 = _mm512_cmpeq_epi64_mask(a, _mm512_alignr_epi64(b, b, 6));
    __mmask8 m7 = _mm512_cmpeq_epi64_mask(a, _mm512_alignr_epi64(b, b, 7));
    unsigned any =
        (unsigned)(m0 | m1) | (unsigned)(m2 | m3) | (unsigned)(m4 | m5) | (unsigned)(m6 | m7);
    return (size_t)__builtin_popcount(any);
}

bool bm_intersect_avx512(bm_sorted_set x, bm_sorted_set y, size_t least, size_t *common)
{
    size_t i = 0, j = 0, found = 0;
    while (x.n - i >= LANES && y.n - j >= LANES) {
        size_t left = x.n - i < y.n - j ? x.n - i : y.n - j;
        if (found + left < least)
            return false;
        found += matches(_mm512_loadu_si512(x.hashes + i), _mm512_loadu_si512(y.hashes + j));
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
