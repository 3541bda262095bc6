/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_mersenne.c -- the schemes that compute values mod the prime 2^61 - 1: legacy (datasketch
 * 1), text-dedup and datatrove. Words of legacy and text-dedup are the low 32 bits of values. The
 * schemes differ in the order in which coefficients are drawn, and in the bits of a hash that they
 * use.
 *
 * The functions are the scalar reference, as in scheme_affine.c. In the original programs the
 * product wraps mod 2^64 before the modulus is taken, so it does here too.
 *
 * Threads: pure functions. Parameters do not change after they were drawn. */
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "kernels/affine64.h"
#include "sketch/scheme_row.h"
#include "sketch/scheme_params.h"

/* Draw a and b alternately, permutation after permutation. */
static bm_status legacy_draw(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err)
{
    BM_TRY(bm_scheme_params_init64(&bm_scheme_legacy, options, false, out, err));
    bm_random random;
    bm_random_init(&random, options->seed);
    for (uint32_t i = 0; i < options->perms; i++) {
        out->a64[i] = bm_random_range(&random, 1, BM_MERSENNE_61);
        out->b64[i] = bm_random_range(&random, 0, BM_MERSENNE_61);
    }
    return BM_OK;
}

/* Draw all a, then all b. */
static bm_status draw_lists(const bm_scheme_ops *ops, const bm_sketch_options *options,
                            bm_scheme_params *out, bm_error *err)
{
    BM_TRY(bm_scheme_params_init64(ops, options, false, out, err));
    bm_random random;
    bm_random_init(&random, options->seed);
    for (uint32_t i = 0; i < options->perms; i++)
        out->a64[i] = bm_random_range(&random, 1, BM_MERSENNE_61);
    for (uint32_t i = 0; i < options->perms; i++)
        out->b64[i] = bm_random_range(&random, 0, BM_MERSENNE_61);
    return BM_OK;
}

static bm_status text_dedup_draw(const bm_sketch_options *options, bm_scheme_params *out,
                                 bm_error *err)
{
    return draw_lists(&bm_scheme_text_dedup, options, out, err);
}

static bm_status datatrove_draw(const bm_sketch_options *options, bm_scheme_params *out,
                                bm_error *err)
{
    return draw_lists(&bm_scheme_datatrove, options, out, err);
}

static void sign_low(const bm_scheme_params *params, const uint64_t *hashes, size_t n, void *out)
{
    uint32_t *words = out;
    for (uint32_t i = 0; i < params->perms; i++)
        words[i] = BM_NO_SHINGLE32;
    for (size_t s = 0; s < n; s++)
        for (uint32_t i = 0; i < params->perms; i++) {
            const uint32_t x = (uint32_t)hashes[s];
            const uint64_t value = bm_affine64_value(params->a64[i], x, params->b64[i]);
            const uint32_t word = (uint32_t)bm_mod_mersenne61(value);
            words[i] = word < words[i] ? word : words[i];
        }
}

static void datatrove_sign(const bm_scheme_params *params, const uint64_t *hashes, size_t n,
                           void *out)
{
    char *words = out;
    for (uint32_t i = 0; i < params->perms; i++) {
        uint64_t word = BM_NO_SHINGLE64;
        for (size_t s = 0; s < n; s++) {
            const uint64_t value = bm_affine64_value(params->a64[i], hashes[s], params->b64[i]);
            const uint64_t place = bm_mod_mersenne61(value);
            word = place < word ? place : word;
        }
        memcpy(words + i * sizeof word, &word, sizeof word);
    }
}

#define LOW_DEVICE                                                                                 \
    {                                                                                              \
        .files = {"affine64.h", "wide.cl"}, .sign_cpu = "sign_wide_cpu.cl",                        \
        .sign_gpu = "sign_gpu.cl", .options = "-DBM_WIDE_LOW", .upload = bm_coefficients_upload64, \
        .merge = bm_words_merge32                                                                  \
    }

static const uint32_t test_perms[] = {100, 0};

const bm_scheme_ops bm_scheme_legacy = {.scheme = BM_SCHEME_LEGACY,
                                        .prefix = true,
                                        .draw = legacy_draw,
                                        .sign = sign_low,
                                        .device = LOW_DEVICE,
                                        .test_perms = test_perms};
const bm_scheme_ops bm_scheme_text_dedup = {.scheme = BM_SCHEME_TEXT_DEDUP,
                                            .prefix = true,
                                            .draw = text_dedup_draw,
                                            .sign = sign_low,
                                            .device = LOW_DEVICE,
                                            .test_perms = test_perms};
const bm_scheme_ops bm_scheme_datatrove = {.scheme = BM_SCHEME_DATATROVE,
                                           .prefix = true,
                                           .draw = datatrove_draw,
                                           .sign = datatrove_sign,
                                           .device = {.files = {"affine64.h", "wide.cl"},
                                                      .sign_cpu = "sign_wide_cpu.cl",
                                                      .sign_gpu = "sign_gpu.cl",
                                                      .options = "-DBM_WIDE_PRIME -DBM_WORD=ulong",
                                                      .whole_hashes = true,
                                                      .alone = true,
                                                      .upload = bm_coefficients_upload64,
                                                      .merge = bm_words_merge64},
                                           .test_perms = test_perms};
