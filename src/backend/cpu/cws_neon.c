/* cws_neon.c -- the loops of cws with NEON: 2 doubles, or 4 floats, a register.
 *
 * Tests: tests/unit/cpu/test_cws_loops.c, tests/unit/cpu/test_native_cws.c */
#include <arm_neon.h>

#define LANES 2
#include "backend/cpu/cws_few_lanes.h"

static inline size_t append(uint32_t first, f32_lanes x, f32_lanes limit, uint32_t *out)
{
    static const uint32_t weights[4] = {1, 2, 4, 8};
    const uint32x4_t above = vcgtq_f32((float32x4_t)x, (float32x4_t)limit);
    const uint32_t bits = vaddvq_u32(vbicq_u32(vld1q_u32(weights), above));
    return append_bits(first, bits, out);
}

const bm_cws_loops bm_cws_loops_neon = {.lanes = LANES,
                                        .prepare = prepare,
                                        .set_limits = set_limits,
                                        .candidates = candidates,
                                        .values = values};
