/* SPDX-License-Identifier: Apache-2.0 */
/* sign_groups.h -- the loop over groups of permutations, for sign_avx2.c and sign_avx512.c. Before
 * they include this file, they define LANES, GROUP_MAX (registers of minima in a pass, 4 or 8) and
 * minima_group.
 *
 * Tests: tests/unit/cpu/test_sign_loops.c */
#pragma once

#include "cpu/sign_loops_row.h"

/* Call minima_group with a constant number of registers. */
static inline __attribute__((always_inline)) void minima_of(const bm_sign_pass *pass,
                                                            uint32_t count, const bool still)
{
    switch (count) {
    case 1:
        minima_group(pass, 1, still);
        break;
    case 2:
        minima_group(pass, 2, still);
        break;
    case 3:
        minima_group(pass, 3, still);
        break;
#if GROUP_MAX > 4
    case 4:
        minima_group(pass, 4, still);
        break;
    case 5:
        minima_group(pass, 5, still);
        break;
    case 6:
        minima_group(pass, 6, still);
        break;
    case 7:
        minima_group(pass, 7, still);
        break;
#endif
    default:
        minima_group(pass, GROUP_MAX, still);
        break;
    }
}

static inline __attribute__((always_inline)) void all_groups(const bm_scheme_params *params,
                                                             bm_sign_pass pass, const bool still)
{
    uint32_t n_vectors = (params->perms + LANES - 1) / LANES;
    uint32_t n_groups = (n_vectors + GROUP_MAX - 1) / GROUP_MAX;
    uint32_t *words = pass.words;
    for (uint32_t g = 0, vector = 0; g < n_groups; g++) {
        uint32_t groups_left = n_groups - g; /* groups get even shares: 5 registers are 3 + 2, not 4
                                                + 1 */
        uint32_t count = (n_vectors - vector + groups_left - 1) / groups_left;
        pass.a = params->a + (size_t)vector * LANES;
        pass.b = params->b + (size_t)vector * LANES;
        pass.words = words + (size_t)vector * LANES;
        minima_of(&pass, count, still);
        vector += count;
    }
}

static void minima(const bm_scheme_params *params, const uint32_t *block, size_t n, bool begun,
                   uint32_t *words)
{
    const bm_sign_pass pass = {.block = block, .n = n, .words = words, .begun = begun};
    all_groups(params, pass, false);
}

static void arithmetic(const bm_scheme_params *params, size_t n, uint32_t *words)
{
    all_groups(params, (bm_sign_pass){.n = n, .words = words}, true);
}
