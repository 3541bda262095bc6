/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_nemo.c -- the scheme nemo: NeMo Curator's 32-bit signatures, with values as cuDF computes
 * them. The arithmetic is that of affine32, without mixing hashes first. So the kernels and vector
 * loops of affine32 are used.
 *
 * cuDF computes a*h + b mod 2^61 - 1, but with 32-bit numbers. They have wrapped mod 2^32 before,
 * so the modulus has no effect. cuDF also replaces a hash of 0 by 1.
 *
 * Threads: pure functions. Parameters do not change after they were drawn. */
#include "base/error.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "model/scheme_facts.h"
#include "sketch/scheme_row.h"
#include "sketch/scheme_params.h"

/* Draw a and b alternately, permutation after permutation. */
static bm_status nemo_draw(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err)
{
    BM_TRY(bm_scheme_params_init(&bm_scheme_nemo, options, options->perms, out, err));
    bm_random random;
    bm_random_init(&random, options->seed);
    for (uint32_t i = 0; i < options->perms; i++) {
        out->a[i] = (uint32_t)bm_random_range(&random, 1, BM_NEMO_RANGE);
        out->b[i] = (uint32_t)bm_random_range(&random, 0, BM_NEMO_RANGE);
    }
    return BM_OK;
}

static uint32_t nemo_permutation(const void *permutations, uint32_t i, uint32_t h)
{
    const bm_scheme_params *params = permutations;
    return bm_affine32_value(params->a[i], h, params->b[i]);
}

static void nemo_sign(const bm_scheme_params *params, const uint64_t *hashes, size_t n, void *out)
{
    uint32_t *words = out;
    for (uint32_t i = 0; i < params->perms; i++)
        words[i] = BM_NO_SHINGLE32;
    for (size_t s = 0; s < n; s++)
        bm_minima_update(nemo_permutation, params, params->perms,
                         bm_not_zero32((uint32_t)hashes[s]), words);
}

static const uint32_t test_perms[] = {260, 0};

const bm_scheme_ops bm_scheme_nemo = {.scheme = BM_SCHEME_NEMO,
                                      .prefix = true,
                                      .draw = nemo_draw,
                                      .sign = nemo_sign,
                                      .device = {.sign_cpu = "sign_cpu.cl",
                                                 .sign_gpu = "sign_gpu.cl",
                                                 .options = "-DBM_PREMIX=bm_not_zero32",
                                                 .upload = bm_coefficients_upload32,
                                                 .merge = bm_words_merge32},
                                      .test_perms = test_perms};
