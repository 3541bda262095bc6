/* SPDX-License-Identifier: Apache-2.0 */
/* cws_few_lanes.h -- cws_lanes.h for instruction sets that cannot pack lanes or convert unsigned
 * words. The file cws_<set>.c of the instruction set defines LANES and `at_most`. */
#pragma once

#define SHARES_BITS 31
#include "cpu/cws_lanes.h"

static inline f32_lanes shares_of(u32_lanes w)
{
    return __builtin_convertvector((i32_lanes)(w >> 1), f32_lanes);
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
