/* SPDX-License-Identifier: Apache-2.0 */
/* key_loops_avx512.c -- band keys with AVX-512 DQ, which multiplies 64-bit lanes.
 *
 * Eight bands are computed at a time. The words of each band are multiplied by the powers, eight
 * lanes at once. Lanes past the end of the band are multiplied by zero. The eight vectors are added
 * up crosswise into one vector of eight sums, which is then mixed. For 16 bands of 8 rows, about
 * 100 vector operations replace 128 scalar multiplies in chains of 8.
 *
 * Tests: tests/unit/cpu/test_key_loops.c */
#include <immintrin.h>

#include "cpu/key_loops.h"
#include "kernels/affine32.h"

static inline __m512i fmix64_lanes(__m512i k)
{
    k = _mm512_xor_si512(k, _mm512_srli_epi64(k, 33));
    k = _mm512_mullo_epi64(k, _mm512_set1_epi64((long long)0xFF51AFD7ED558CCDULL));
    k = _mm512_xor_si512(k, _mm512_srli_epi64(k, 33));
    k = _mm512_mullo_epi64(k, _mm512_set1_epi64((long long)0xC4CEB9FE1A85EC53ULL));
    return _mm512_xor_si512(k, _mm512_srli_epi64(k, 33));
}

/* In each quarter of the result, lane 0 is the sum of the two lanes of x, and lane 1 the sum of the
 * two lanes of y. */
static inline __m512i add_pairs(__m512i x, __m512i y)
{
    return _mm512_add_epi64(_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y));
}

/* Add neighbouring quarters. The first two quarters of the result come from x, the last two from
 * y. */
static inline __m512i add_quarters(__m512i x, __m512i y)
{
    return _mm512_add_epi64(_mm512_shuffle_i64x2(x, y, 0x88), _mm512_shuffle_i64x2(x, y, 0xDD));
}

/* Lane i of the result is the sum of the lanes of v[i]. */
static inline __m512i sums_of_eight(const __m512i v[8])
{
    __m512i low = add_quarters(add_pairs(v[0], v[1]), add_pairs(v[2], v[3]));
    __m512i high = add_quarters(add_pairs(v[4], v[5]), add_pairs(v[6], v[7]));
    return add_quarters(low, high);
}

/* Return the terms of one band, not added up yet. */
static inline __m512i terms(const bm_key_plan *plan, const uint32_t *words)
{
    __m512i sum = _mm512_setzero_si512();
    for (uint32_t row = 0; row < plan->rows; row += BM_KEY_LANES) {
        __m256i eight = _mm256_loadu_si256((const __m256i *)(words + row));
        __m512i power = _mm512_load_si512(plan->powers + row);
        sum = _mm512_add_epi64(sum, _mm512_mullo_epi64(_mm512_cvtepu32_epi64(eight), power));
    }
    return sum;
}

void bm_band_keys_avx512(const bm_key_plan *plan, const uint32_t *words, uint64_t *keys)
{
    const __m512i count = _mm512_set_epi64(8, 7, 6, 5, 4, 3, 2, 1);
    const __m512i start = _mm512_set1_epi64((long long)plan->start);
    for (uint32_t band = 0; band < plan->bands; band += 8) {
        __m512i v[8];
#pragma GCC unroll 8
        for (uint32_t i = 0; i < 8; i++) { /* past the end, the last band is computed again and not
                                              stored */
            uint32_t at = band + i < plan->bands ? band + i : plan->bands - 1;
            v[i] = terms(plan, words + (size_t)at * plan->rows);
        }
        __m512i number = _mm512_add_epi64(count, _mm512_set1_epi64(band));
        __m512i key = _mm512_add_epi64(sums_of_eight(v), _mm512_mullo_epi64(number, start));
        uint32_t left = plan->bands - band;
        __mmask8 stored = (__mmask8)(left >= 8 ? 0xFFu : (1u << left) - 1u);
        _mm512_mask_storeu_epi64(keys + band, stored, fmix64_lanes(key));
    }
}
