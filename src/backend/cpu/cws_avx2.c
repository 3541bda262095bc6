/* cws_avx2.c -- the loops of cws with AVX2: 4 doubles, or 8 floats, a register.
 *
 * Tests: tests/unit/cpu/test_cws_loops.c, tests/unit/cpu/test_native_cws.c */
#include <immintrin.h>

#define LANES  4
#define SHARES 0x1p31f
#include "backend/cpu/cws_lanes.h"

static inline f32_lanes shares_of(u32_lanes w)
{
    return __builtin_convertvector((i32_lanes)(w >> 1), f32_lanes);
}

/* Most often there are two at most, and two are written in any case: then nobody has to guess how many. */
static inline size_t append(uint32_t first, f32_lanes x, f32_lanes limit, uint32_t *out)
{
    uint32_t bits =
        (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps((__m256)x, (__m256)limit, _CMP_NGT_UQ));
    const size_t n = (size_t)__builtin_popcount(bits);
    for (size_t k = 0; k < 2 || bits != 0; k++) {
        out[k] = first + (uint32_t)__builtin_ctz(bits | UINT32_C(1) << 31);
        bits &= bits - 1;
    }
    return n;
}

static inline size_t append_low(uint32_t first, f64_lanes x, double most, uint32_t *out)
{
    size_t n = 0;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        out[n] = first + lane;
        n += x[lane] <= most;
    }
    return n;
}

const bm_cws_loops bm_cws_loops_avx2 = {.lanes = LANES,
                                        .prepare = prepare,
                                        .set_limits = set_limits,
                                        .candidates = candidates,
                                        .values = values};
