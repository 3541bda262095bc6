/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_params.c -- allocates and frees coefficients; see scheme_params.h.
 *
 * Tests: tests/unit/sketch/test_scheme_affine32.c, tests/unit/sketch/test_scheme_oph.c */
#include "sketch/scheme_params.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static uint32_t padded(uint32_t n)
{
    return (n + BM_SCHEME_PADDING - 1) / BM_SCHEME_PADDING * BM_SCHEME_PADDING;
}

bm_status bm_scheme_check_perms(uint32_t perms, bm_error *err)
{
    if (perms == 0 || perms > BM_PERMS_MAX)
        return bm_fail_field(err, "perms", "%u permutations (1 to %u)", perms, BM_PERMS_MAX);
    return BM_OK;
}

bm_status bm_scheme_params_init(const bm_scheme_ops *ops, const bm_sketch_options *options,
                                uint32_t n, bm_scheme_params *out, bm_error *err)
{
    BM_TRY(bm_scheme_check_perms(options->perms, err));
    const size_t words = padded(n);
    uint32_t *a = bm_alloc_aligned(words, sizeof *a);
    uint32_t *b = bm_alloc_aligned(words, sizeof *b);
    if (a == NULL || b == NULL) {
        bm_free_all(a, b);
        return bm_fail_nomem(err, 2 * words * sizeof *a);
    }
    memset(a, 0, words * sizeof *a);
    memset(b, 0, words * sizeof *b);
    *out = (bm_scheme_params){.ops = ops,
                              .perms = options->perms,
                              .perms_padded = padded(options->perms),
                              .seed = options->seed,
                              .a = a,
                              .b = b};
    return BM_OK;
}

static uint64_t *zeros64(uint32_t n)
{
    uint64_t *words = bm_alloc_aligned(n, sizeof *words);
    if (words != NULL)
        memset(words, 0, n * sizeof *words);
    return words;
}

bm_status bm_scheme_params_init64(const bm_scheme_ops *ops, const bm_sketch_options *options,
                                  bool third, bm_scheme_params *out, bm_error *err)
{
    BM_TRY(bm_scheme_check_perms(options->perms, err));
    const uint32_t n = padded(options->perms);
    *out = (bm_scheme_params){.ops = ops,
                              .perms = options->perms,
                              .perms_padded = n,
                              .seed = options->seed,
                              .a64 = zeros64(n),
                              .b64 = zeros64(n),
                              .c64 = third ? zeros64(n) : NULL};
    if (out->a64 != NULL && out->b64 != NULL && (!third || out->c64 != NULL))
        return BM_OK;
    bm_scheme_params_reset(out);
    return bm_fail_nomem(err, 3 * n * sizeof(uint64_t));
}

bm_scheme_params bm_scheme_params_some(const bm_scheme_params *params, uint32_t first, uint32_t n)
{
    bm_scheme_params some = *params;
    uint32_t **narrow[] = {&some.a, &some.b};
    uint64_t **wide[] = {&some.a64, &some.b64, &some.c64};
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++)
        if (*narrow[i] != NULL)
            *narrow[i] += first;
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        if (*wide[i] != NULL)
            *wide[i] += first;
    some.perms = n;
    some.plan = NULL;
    return some;
}

void bm_scheme_params_reset(bm_scheme_params *params)
{
    if (params->plan != NULL)
        params->ops->plan_free(params->plan);
    bm_free_all(params->a, params->b, params->a64, params->b64, params->c64);
    memset(params, 0, sizeof *params);
}
