/* cws_few_lanes.h -- cws_lanes.h for sets without instructions that pack lanes or convert words without a
 * sign; cws_<set>.c says LANES, and `append`. */
#ifndef BM_BACKEND_CPU_CWS_FEW_LANES_H
#define BM_BACKEND_CPU_CWS_FEW_LANES_H

#define SHARES 0x1p31f
#include "backend/cpu/cws_lanes.h"

static inline f32_lanes shares_of(u32_lanes w)
{
    return __builtin_convertvector((i32_lanes)(w >> 1), f32_lanes);
}

/* Those lanes whose bit is set. Most often there are two at most, and two are written in any case: then
 * nobody has to guess how many. */
static inline size_t append_bits(uint32_t first, uint32_t bits, uint32_t *out)
{
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

#endif
