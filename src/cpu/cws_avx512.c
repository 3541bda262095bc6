/* SPDX-License-Identifier: Apache-2.0 */
/* cws_avx512.c -- the loops of cws with AVX-512: 8 doubles, or 16 floats, a register.
 *
 * Tests: tests/unit/cpu/test_cws_loops.c, tests/unit/cpu/test_native_cws.c */
#include <immintrin.h>

#define LANES       8
#define SHARES_BITS 32
#include "cpu/cws_lanes.h"

static inline f32_lanes shares_of(u32_lanes w)
{
    return (f32_lanes)_mm512_cvtepu32_ps((__m512i)w);
}

static inline uint64_t at_most(const uint8_t *bytes, uint8_t limit)
{
    return _mm512_cmple_epu8_mask(_mm512_loadu_si512(bytes), _mm512_set1_epi8((char)limit));
}

static inline void put_eight(uint64_t bytes, uint32_t first, uint32_t more, uint32_t *out)
{
    const __m256i words = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes));
    const __m256i one =
        _mm256_add_epi32(_mm256_slli_epi32(words, 16), _mm256_set1_epi32((int)first));
    const __m256i all = _mm256_add_epi32(one, _mm256_set1_epi32((int)more));
    _mm256_storeu_si256((__m256i *)out, all);
}

static inline size_t append_low(uint32_t first, f64_lanes x, double most, uint32_t *out)
{
    const __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __mmask8 bits = _mm512_cmp_pd_mask((__m512d)x, _mm512_set1_pd(most), _CMP_LE_OQ);
    const __m256i all = _mm256_add_epi32(lane, _mm256_set1_epi32((int)first));
    _mm256_storeu_si256((__m256i *)out, _mm256_maskz_compress_epi32(bits, all));
    return (size_t)__builtin_popcount(bits);
}

const bm_cws_loops bm_cws_loops_avx512 = {.bounds = bounds,
                                          .log_weights = log_weights,
                                          .set_limits = set_limits,
                                          .candidates = candidates,
                                          .values = values};
