/* cws_avx2.c -- the loops of cws with AVX2: 4 doubles, or 8 floats, a register.
 *
 * Tests: tests/unit/cpu/test_cws_loops.c, tests/unit/cpu/test_native_cws.c */
#include <immintrin.h>

#define LANES 4
#include "backend/cpu/cws_few_lanes.h"

static inline size_t append(uint32_t first, f32_lanes x, f32_lanes limit, uint32_t *out)
{
    const uint32_t bits =
        (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps((__m256)x, (__m256)limit, _CMP_NGT_UQ));
    return append_bits(first, bits, out);
}

const bm_cws_loops bm_cws_loops_avx2 = {.lanes = LANES,
                                        .prepare = prepare,
                                        .set_limits = set_limits,
                                        .candidates = candidates,
                                        .values = values};
