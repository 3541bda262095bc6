/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_cws.c -- the scalar reference of the scheme cws: consistent weighted sampling of shingles
 * with weights.
 *
 * As in scheme_affine.c, the reference is the definition with which every backend is compared.
 * cws_draws.h has the formulas and their sources. A word is the low 32 bits of the hash of the
 * chosen element. Words of two documents agree if the same element was chosen, or another one with
 * the same 32 bits. So bands, verification by signatures and plans work as with any scheme. Words
 * do not depend on the order of the elements, or on repeated elements.
 *
 * Each permutation has five coefficients a and five b. First all a_ij = 2 (n32 & 0x7fffffff) + 1
 * are drawn, permutation after permutation, then all b_ij = n32. The first words do not depend on
 * the others.
 *
 * Threads: pure functions. Parameters do not change after they were drawn. */

#include "base/error.h"
#include "base/random.h"
#include "sketch/cws_draws.h"
#include "sketch/scheme_params.h"

static bm_status cws_draw(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err)
{
    const uint32_t n = options->perms * BM_CWS_DRAWS;
    BM_TRY(bm_scheme_check_perms(options->perms, err));
    BM_TRY(bm_scheme_params_init(&bm_scheme_cws, options, n, out, err));
    bm_random random;
    bm_random_init(&random, options->seed);
    for (uint32_t i = 0; i < n; i++)
        out->a[i] = 2 * (bm_random_u32(&random) & UINT32_C(0x7FFFFFFF)) + 1;
    for (uint32_t i = 0; i < n; i++)
        out->b[i] = bm_random_u32(&random);
    return BM_OK;
}

static void cws_sign(const bm_scheme_params *params, const uint64_t *hashes, const double *weights,
                     size_t n, void *out)
{
    uint32_t *words = out;
    for (uint32_t i = 0; i < params->perms; i++) {
        const uint32_t *a = params->a + i * BM_CWS_DRAWS, *b = params->b + i * BM_CWS_DRAWS;
        uint64_t chosen = UINT64_MAX;
        double least = 0;
        for (size_t s = 0; s < n; s++) {
            uint32_t e[BM_CWS_DRAWS], w[BM_CWS_DRAWS];
            bm_cws_mix(hashes[s], e);
            for (uint32_t j = 0; j < BM_CWS_DRAWS; j++)
                w[j] = bm_affine32_value(a[j], e[j], b[j]);
            const double value = bm_cws_value(w, bm_portable_log(weights[s]));
            if (s == 0 || bm_cws_before(value, hashes[s], least, chosen)) {
                least = value;
                chosen = hashes[s];
            }
        }
        words[i] = (uint32_t)chosen;
    }
}

static const uint32_t test_perms[] = {1, 16, 100, 128, 0};

const bm_scheme_ops bm_scheme_cws = {.scheme = BM_SCHEME_CWS,
                                     .prefix = true,
                                     .weighted = true,
                                     .draw = cws_draw,
                                     .sign_weighted = cws_sign,
                                     .test_perms = test_perms};
