/* SPDX-License-Identifier: Apache-2.0 */
/* world_scheme.h -- the parameters of a scheme, drawn from a seed. */
#pragma once

#include <criterion/criterion.h>

#include "sketch/scheme.h"

static inline bm_scheme_params world_scheme(bm_scheme scheme, uint32_t perms, uint32_t seed)
{
    const bm_sketch_options options = {.perms = perms, .seed = seed, .scheme = scheme};
    bm_scheme_params params;
    cr_assert_eq(bm_scheme_draw(&options, &params, NULL), BM_OK);
    return params;
}
