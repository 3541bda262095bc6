/* SPDX-License-Identifier: Apache-2.0 */
/* cws_scalar.c -- the loops of cws for any processor. The compiler turns vectors of two doubles
 * into registers of SSE2, or into scalar code.
 *
 * Tests: tests/unit/cpu/test_cws_loops.c, tests/unit/cpu/test_native_cws.c */
#define LANES 2
#include "cpu/cws_few_lanes.h"

#define EACH UINT64_C(0x0101010101010101)

/* Compares eight bytes at a time, but only the upper 7 bits of each, so that no subtraction borrows
 * from the next byte. Therefore a byte that is one above `limit` may pass too. */
static inline uint64_t at_most(const uint8_t *bytes, uint8_t limit)
{
    const uint64_t all = (limit >> 1 | 0x80) * EACH;
    uint64_t bits = 0;
    for (uint32_t i = 0; i < 64; i += 8) {
        uint64_t x;
        memcpy(&x, bytes + i, sizeof x);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
        x = __builtin_bswap64(x);
#endif
        const uint64_t yes = (all - (x >> 1 & 0x7F * EACH)) >> 7 & EACH;
        bits |= yes * UINT64_C(0x0102040810204080) >> 56 << i;
    }
    return bits;
}

static inline void put_eight(uint64_t bytes, uint32_t first, uint32_t more, uint32_t *out)
{
    for (uint32_t i = 0; i < 8; i++)
        out[i] = first + more + ((uint32_t)(bytes >> 8 * i & 0xFF) << 16);
}

const bm_cws_loops bm_cws_loops_scalar = {.bounds = bounds,
                                          .log_weights = log_weights,
                                          .set_limits = set_limits,
                                          .candidates = candidates,
                                          .values = values};
