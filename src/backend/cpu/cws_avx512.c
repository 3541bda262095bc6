/* cws_avx512.c -- the loops of cws with AVX-512: 8 doubles, or 16 floats, a register.
 *
 * Tests: tests/unit/cpu/test_cws_loops.c, tests/unit/cpu/test_native_cws.c */
#include <immintrin.h>

#define LANES  8
#define SHARES 0x1p32f
#include "backend/cpu/cws_lanes.h"

static inline f32_lanes shares_of(u32_lanes w)
{
    return (f32_lanes)_mm512_cvtepu32_ps((__m512i)w);
}

static inline size_t append(uint32_t first, f32_lanes x, f32_lanes limit, uint32_t *out)
{
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __mmask16 bits = _mm512_cmp_ps_mask((__m512)x, (__m512)limit, _CMP_NGT_UQ);
    const __m512i all = _mm512_add_epi32(lane, _mm512_set1_epi32((int)first));
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(bits, all));
    return (size_t)__builtin_popcount(bits);
}

static inline size_t append_low(uint32_t first, f64_lanes x, double most, uint32_t *out)
{
    const __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __mmask8 bits = _mm512_cmp_pd_mask((__m512d)x, _mm512_set1_pd(most), _CMP_LE_OQ);
    const __m256i all = _mm256_add_epi32(lane, _mm256_set1_epi32((int)first));
    _mm256_storeu_si256((__m256i *)out, _mm256_maskz_compress_epi32(bits, all));
    return (size_t)__builtin_popcount(bits);
}

const bm_cws_loops bm_cws_loops_avx512 = {.lanes = LANES,
                                          .prepare = prepare,
                                          .set_limits = set_limits,
                                          .candidates = candidates,
                                          .values = values};
