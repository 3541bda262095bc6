/* cws_avx512.c -- the loops of cws with AVX-512: 8 doubles, or 16 floats, a register.
 *
 * Tests: tests/unit/cpu/test_cws_loops.c, tests/unit/cpu/test_native_cws.c */
#include <immintrin.h>

#define LANES 8
#include "backend/cpu/cws_lanes.h"

static inline size_t append(uint32_t first, f32_lanes x, f32_lanes limit, uint32_t *out)
{
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __mmask16 bits = _mm512_cmp_ps_mask((__m512)x, (__m512)limit, _CMP_NGT_UQ);
    const __m512i all = _mm512_add_epi32(lane, _mm512_set1_epi32((int)first));
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(bits, all));
    return (size_t)__builtin_popcount(bits);
}

const bm_cws_loops bm_cws_loops_avx512 = {
    .lanes = LANES, .prepare = prepare, .candidates = candidates, .values = values};
