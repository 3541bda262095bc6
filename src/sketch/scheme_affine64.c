/* scheme_affine64.c -- the scheme affine64 of datasketch 2: affine32 with 64 bits throughout.
 *
 * Threads: pure functions; parameters are read only after draw. */
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "kernels/affine64.h"
#include "sketch/scheme_merge.h"
#include "sketch/scheme_params.h"

/* All a first, each made odd, then all b. */
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

static const uint32_t test_perms[] = {100, 0};

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
                                          .test_perms = test_perms};
