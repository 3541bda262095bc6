/* SPDX-License-Identifier: Apache-2.0 */
/* sign_loops.c -- the table of the loops in this build. */
#include "cpu/sign_loops.h"

static const bm_sign_loops *const all_loops[] = {
    &bm_sign_loops_scalar,
#if defined(__x86_64__)
    &bm_sign_loops_avx2,
    &bm_sign_loops_avx512,
#elif defined(__aarch64__)
    &bm_sign_loops_neon,
#endif
};

const bm_sign_loops *bm_sign_loops_find(bm_isa isa)
{
    for (size_t i = 0; i < sizeof all_loops / sizeof all_loops[0]; i++)
        if (all_loops[i]->isa == isa)
            return all_loops[i];
    return NULL;
}
