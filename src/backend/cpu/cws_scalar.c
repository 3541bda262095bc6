/* cws_scalar.c -- the loops of cws for any processor. The compiler makes of two doubles what
 * there is: a register of SSE2, or one after the other.
 *
 * Tests: tests/unit/cpu/test_cws_loops.c, tests/unit/cpu/test_native_cws.c */
#define LANES 2
#include "backend/cpu/cws_few_lanes.h"

static inline size_t append(uint32_t first, f32_lanes x, f32_lanes limit, uint32_t *out)
{
    size_t n = 0;
    for (uint32_t lane = 0; lane < 2 * LANES; lane++) {
        out[n] = first + lane;
        n += !(x[lane] > limit[lane]);
    }
    return n;
}

const bm_cws_loops bm_cws_loops_scalar = {.lanes = LANES,
                                          .prepare = prepare,
                                          .set_limits = set_limits,
                                          .candidates = candidates,
                                          .values = values};
