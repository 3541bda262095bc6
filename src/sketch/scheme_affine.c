/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_affine.c -- the schemes affine32 and affine64: the scalar reference, and the data that
 * devices need.
 *
 * Tests: tests/unit/sketch/test_scheme_affine32.c, tests/unit/sketch/test_scheme_affine64.c */
#include <bandmill/sketch.h>

#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "kernels/affine64.h"
#include "sketch/scheme_params.h"
#include "sketch/scheme_row.h"

/* === scheme affine32 ===
 *
 * The scalar reference of the scheme affine32 (coefficients and minima), and the data that devices
 * need.
 *
 * The reference is the definition with which every backend is compared. So it is written for
 * readers, not for speed: each step handles one shingle, one permutation and one minimum. The
 * arithmetic comes from kernels/affine32.h, which OpenCL devices compile too.
 *
 * Threads: pure functions. Parameters do not change after they were drawn. */

/* Draw coefficients in the order of datasketch 2: first all a, each made odd, then all b. */
static void draw_coefficients(uint32_t seed, uint32_t k, uint32_t *a, uint32_t *b)
{
    bm_random random;
    bm_random_init(&random, seed);
    for (uint32_t i = 0; i < k; i++)
        a[i] = 2 * (bm_random_u32(&random) & UINT32_C(0x7FFFFFFF)) + 1;
    for (uint32_t i = 0; i < k; i++)
        b[i] = bm_random_u32(&random);
}

static bm_status affine32_draw(const bm_sketch_options *options, bm_scheme_params *out,
                               bm_error *err)
{
    BM_TRY(bm_scheme_params_init(&bm_scheme_affine32, options, options->perms, out, err));
    draw_coefficients(options->seed, options->perms, out->a, out->b);
    return BM_OK;
}

static uint32_t affine32_permutation(const void *permutations, uint32_t i, uint32_t h)
{
    const bm_scheme_params *params = permutations;
    return bm_affine32_value(params->a[i], h, params->b[i]);
}

static void affine32_sign(const bm_scheme_params *params, const uint64_t *hashes, size_t n,
                          void *out)
{
    uint32_t *words = out;
    for (uint32_t i = 0; i < params->perms; i++)
        words[i] = BM_NO_SHINGLE32;
    for (size_t s = 0; s < n; s++)
        bm_minima_update(affine32_permutation, params, params->perms,
                         bm_fmix32((uint32_t)hashes[s]), words);
}

static const uint32_t affine32_test_perms[] = {1, 16, 100, 128, 256, 0};

const bm_scheme_ops bm_scheme_affine32 = {.scheme = BM_SCHEME_AFFINE32,
                                          .prefix = true,
                                          .draw = affine32_draw,
                                          .sign = affine32_sign,
                                          .device = {.sign_cpu = "sign_cpu.cl",
                                                     .sign_gpu = "sign_gpu.cl",
                                                     .upload = bm_coefficients_upload32,
                                                     .merge = bm_words_merge32},
                                          .test_perms = affine32_test_perms};

bm_status bm_affine32_coefficients(uint32_t seed, uint32_t k, uint32_t *a, uint32_t *b,
                                   bm_error *err)
{
    BM_TRY(bm_scheme_check_perms(k, err));
    if ((a == NULL || b == NULL))
        return bm_fail_field(err, a == NULL ? "a" : "b", "no place for the coefficients given");
    draw_coefficients(seed, k, a, b);
    return BM_OK;
}

/* === scheme affine64 ===
 *
 * The scheme affine64 of datasketch 2: like affine32, but all numbers have 64 bits.
 *
 * Threads: pure functions. Parameters do not change after they were drawn. */

/* Draw first all a, each made odd, then all b. */
static bm_status affine64_draw(const bm_sketch_options *options, bm_scheme_params *out,
                               bm_error *err)
{
    BM_TRY(bm_scheme_params_init64(&bm_scheme_affine64, options, false, out, err));
    bm_random random;
    bm_random_init(&random, options->seed);
    for (uint32_t i = 0; i < options->perms; i++)
        out->a64[i] = 2 * (bm_random_u64(&random) & (UINT64_MAX >> 1)) + 1;
    for (uint32_t i = 0; i < options->perms; i++)
        out->b64[i] = bm_random_u64(&random);
    return BM_OK;
}

static void affine64_sign(const bm_scheme_params *params, const uint64_t *hashes, size_t n,
                          void *out)
{
    char *words = out;
    for (uint32_t i = 0; i < params->perms; i++) {
        uint64_t word = BM_NO_SHINGLE64;
        for (size_t s = 0; s < n; s++) {
            const uint64_t h = bm_fmix64(hashes[s]);
            const uint64_t value = bm_affine64_value(params->a64[i], h, params->b64[i]);
            word = value < word ? value : word;
        }
        memcpy(words + i * sizeof word, &word, sizeof word);
    }
}

static const uint32_t affine64_test_perms[] = {100, 0};

const bm_scheme_ops bm_scheme_affine64 = {.scheme = BM_SCHEME_AFFINE64,
                                          .prefix = true,
                                          .draw = affine64_draw,
                                          .sign = affine64_sign,
                                          .device = {.files = {"affine64.h", "wide.cl"},
                                                     .sign_cpu = "sign_wide_cpu.cl",
                                                     .sign_gpu = "sign_gpu.cl",
                                                     .options = "-DBM_WIDE_MIX -DBM_WORD=ulong",
                                                     .whole_hashes = true,
                                                     .alone = true,
                                                     .upload = bm_coefficients_upload64,
                                                     .merge = bm_words_merge64},
                                          .test_perms = affine64_test_perms};
