/* scheme_affine32.c -- the scalar reference of affine32: coefficients and minima.
 *
 * This file is the definition that every backend is compared with, so it is written to be read, not
 * to be fast: one shingle, one permutation, one minimum. The arithmetic is that of
 * kernels/affine32.h, which OpenCL devices compile too.
 *
 * Threads: pure functions; parameters are read only after draw. */
#include <bandmill/sketch.h>

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/sized_struct.h"
#include "kernels/affine32.h"
#include "sketch/scheme.h"

#define PADDING 64u /* words; whole registers for every instruction set and kernel */

static bm_status check_perms(uint32_t perms, bm_error *err)
{
    if (perms == 0 || perms > BM_PERMS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%u permutations (1 to %u)", perms, BM_PERMS_MAX);
    return BM_OK;
}

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
    bm_status status = check_perms(options->perms, err);
    if (status != BM_OK)
        return status;
    uint32_t padded = (options->perms + PADDING - 1) / PADDING * PADDING;
    uint32_t *a = bm_alloc_aligned(padded, sizeof *a);
    uint32_t *b = bm_alloc_aligned(padded, sizeof *b);
    if (a == NULL || b == NULL) {
        bm_free(a);
        bm_free(b);
        return bm_fail_nomem(err, 2 * padded * sizeof *a);
    }
    memset(a, 0, padded * sizeof *a);
    memset(b, 0, padded * sizeof *b);
    draw_coefficients(options->seed, options->perms, a, b);
    *out = (bm_scheme_params){.ops = &bm_scheme_affine32,
                              .perms = options->perms,
                              .perms_padded = padded,
                              .seed = options->seed,
                              .a = a,
                              .b = b};
    return BM_OK;
}

static void affine32_sign(const bm_scheme_params *params, const uint64_t *hashes, size_t n,
                          uint32_t *words)
{
    for (uint32_t i = 0; i < params->perms; i++)
        words[i] = BM_NO_SHINGLE32;
    for (size_t s = 0; s < n; s++) {
        uint32_t h = bm_fmix32((uint32_t)hashes[s]);
        for (uint32_t i = 0; i < params->perms; i++) {
            uint32_t value = bm_affine32_value(params->a[i], h, params->b[i]);
            if (value < words[i])
                words[i] = value;
        }
    }
}

const bm_scheme_ops bm_scheme_affine32 = {.name = "affine32",
                                          .scheme = BM_SCHEME_AFFINE32,
                                          .word_bytes = 4,
                                          .prefix = true,
                                          .draw = affine32_draw,
                                          .sign = affine32_sign};

void bm_scheme_params_reset(bm_scheme_params *params)
{
    bm_free(params->a);
    bm_free(params->b);
    memset(params, 0, sizeof *params);
}

bm_status bm_affine32_coefficients(uint32_t seed, uint32_t k, uint32_t *a, uint32_t *b,
                                   bm_error *err)
{
    bm_status status = check_perms(k, err);
    if (status == BM_OK && (a == NULL || b == NULL))
        status = bm_fail_field(err, a == NULL ? "a" : "b", "no place for the coefficients given");
    if (status == BM_OK)
        draw_coefficients(seed, k, a, b);
    return status;
}
