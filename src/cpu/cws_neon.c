/* SPDX-License-Identifier: Apache-2.0 */
/* cws_neon.c -- the loops of cws with NEON: 2 doubles, or 4 floats, a register.
 *
 * Tests: tests/unit/cpu/test_cws_loops.c, tests/unit/cpu/test_native_cws.c */
#include <arm_neon.h>

#define LANES 2
#include "cpu/cws_few_lanes.h"

static inline uint8x16_t bits_at_most(const uint8_t *bytes, uint8x16_t limit)
{
    static const uint8_t bits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    return vandq_u8(vcleq_u8(vld1q_u8(bytes), limit), vld1q_u8(bits));
}

static inline uint64_t at_most(const uint8_t *bytes, uint8_t limit)
{
    const uint8x16_t all = vdupq_n_u8(limit);
    const uint8x16_t low = vpaddq_u8(bits_at_most(bytes, all), bits_at_most(bytes + 16, all));
    const uint8x16_t high = vpaddq_u8(bits_at_most(bytes + 32, all), bits_at_most(bytes + 48, all));
    const uint8x16_t four = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(four, four)), 0);
}

static inline void put_eight(uint64_t bytes, uint32_t first, uint32_t more, uint32_t *out)
{
    const uint16x8_t words = vmovl_u8(vcreate_u8(bytes));
    const uint32x4_t all = vdupq_n_u32(first + more);
    vst1q_u32(out, vaddq_u32(vshll_n_u16(vget_low_u16(words), 16), all));
    vst1q_u32(out + 4, vaddq_u32(vshll_n_u16(vget_high_u16(words), 16), all));
}

const bm_cws_loops bm_cws_loops_neon = {.bounds = bounds,
                                        .log_weights = log_weights,
                                        .set_limits = set_limits,
                                        .candidates = candidates,
                                        .values = values};
