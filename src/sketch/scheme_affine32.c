/* scheme_affine32.c -- the scheme affine32: the scalar reference (coefficients and minima), and
 * what devices need.
 *
 * The reference is the definition that every backend is compared with, so it is written to be read,
 * not to be fast: one shingle, one permutation, one minimum. The arithmetic is that of
 * kernels/affine32.h, which OpenCL devices compile too.
 *
 * Threads: pure functions; parameters are read only after draw. */
#include <bandmill/sketch.h>

#include "base/error.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "sketch/minima.h"
#include "sketch/scheme_merge.h"
#include "sketch/scheme_params.h"

/* datasketch 2: all a first, each made odd, then all b. */
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
        bm_minima_take(affine32_permutation, params, params->perms, bm_fmix32((uint32_t)hashes[s]),
                       words);
}

static const uint32_t test_perms[] = {1, 16, 100, 128, 256, 0};

const bm_scheme_ops bm_scheme_affine32 = {.scheme = BM_SCHEME_AFFINE32,
                                          .prefix = true,
                                          .draw = affine32_draw,
                                          .sign = affine32_sign,
                                          .device = {.sign_cpu = "sign_cpu.cl",
                                                     .sign_gpu = "sign_gpu.cl",
                                                     .upload = bm_coefficients_upload32,
                                                     .merge = bm_words_merge32},
                                          .test_perms = test_perms};

bm_status bm_affine32_coefficients(uint32_t seed, uint32_t k, uint32_t *a, uint32_t *b,
                                   bm_error *err)
{
    BM_TRY(bm_scheme_check_perms(k, err));
    if ((a == NULL || b == NULL))
        return bm_fail_field(err, a == NULL ? "a" : "b", "no place for the coefficients given");
    draw_coefficients(seed, k, a, b);
    return BM_OK;
}
