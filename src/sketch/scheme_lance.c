/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_lance.c -- the scheme lance: the words of Lance's MinHash index, which are 16 bits of a
 * 64-bit minimum. Each is stored in a 32-bit word, whose upper 16 bits are 0. If the document has
 * no shingles, all 32 bits are 1.
 *
 * Threads: pure functions. Parameters do not change after they were drawn. */
#include "base/error.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "kernels/affine64.h"
#include "sketch/scheme_row.h"
#include "sketch/scheme_params.h"

/* Draw from SplitMix64, which starts at the seed: a and b alternately, then all c. */
static bm_status lance_draw(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err)
{
    BM_TRY(bm_scheme_params_init64(&bm_scheme_lance, options, true, out, err));
    uint64_t state = options->seed;
    for (uint32_t i = 0; i < options->perms; i++) {
        out->a64[i] = bm_splitmix64(&state) | 1;
        out->b64[i] = bm_splitmix64(&state);
    }
    for (uint32_t i = 0; i < options->perms; i++)
        out->c64[i] = bm_splitmix64(&state) | 1;
    return BM_OK;
}

static void lance_sign(const bm_scheme_params *params, const uint64_t *hashes, size_t n, void *out)
{
    uint32_t *words = out;
    for (uint32_t i = 0; i < params->perms; i++) {
        uint64_t least = UINT64_MAX;
        for (size_t s = 0; s < n; s++) {
            const uint64_t value = bm_affine64_value(params->a64[i], hashes[s], params->b64[i]);
            least = value < least ? value : least;
        }
        words[i] = n == 0 ? BM_NO_SHINGLE32 : bm_lance_word(params->c64[i], least);
    }
}

static const uint32_t test_perms[] = {100, 0};

const bm_scheme_ops bm_scheme_lance = {.scheme = BM_SCHEME_LANCE,
                                       .prefix = true,
                                       .draw = lance_draw,
                                       .sign = lance_sign,
                                       .device = {.files = {"affine64.h", "wide.cl"},
                                                  .sign_cpu = "sign_wide_cpu.cl",
                                                  .sign_gpu = "sign_gpu.cl",
                                                  .options = "-DBM_WIDE_LANCE",
                                                  .whole_hashes = true,
                                                  .alone = true,
                                                  .upload = bm_coefficients_upload64},
                                       .test_perms = test_perms};
