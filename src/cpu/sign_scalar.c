/* SPDX-License-Identifier: Apache-2.0 */
/* sign_scalar.c -- the loops in plain C, for any processor.
 *
 * A pass computes 16 permutations. Their minima and coefficients are small arrays of constant
 * length. A compiler keeps such arrays in registers and, if the baseline allows it, turns them into
 * vectors by itself.
 *
 * Tests: tests/unit/cpu/test_sign_loops.c, tests/unit/cpu/test_oph_bins.c */
#include <string.h>

#include "cpu/sign_loops_row.h"
#include "kernels/affine32.h"
#include "kernels/oph.h"

#define GROUP 16u

static void scalar_premix(const uint64_t *hashes, size_t n, uint32_t *block)
{
    for (size_t i = 0; i < n; i++)
        block[i] = bm_fmix32((uint32_t)hashes[i]);
}

static inline __attribute__((always_inline)) void minima_group(const bm_sign_pass *pass,
                                                               const bool still)
{
    uint32_t m[GROUP], h = 0x12345678u;
    for (size_t i = 0; i < GROUP; i++)
        m[i] = pass->begun ? pass->words[i] : UINT32_MAX;
    for (size_t s = 0; s < pass->n; s++) {
        if (still)
            __asm__ volatile("" : "+r"(h));
        else
            h = pass->block[s];
        for (size_t i = 0; i < GROUP; i++) {
            uint32_t value = bm_affine32_value(pass->a[i], h, pass->b[i]);
            m[i] = value < m[i] ? value : m[i];
        }
    }
    for (size_t i = 0; i < GROUP; i++)
        pass->words[i] = m[i];
}

static inline __attribute__((always_inline)) void all_groups(const bm_scheme_params *params,
                                                             bm_sign_pass pass, const bool still)
{
    uint32_t *words = pass.words;
    for (uint32_t i = 0; i < params->perms; i += GROUP) { /* words are padded to 64, so groups are
                                                             whole */
        pass.a = params->a + i;
        pass.b = params->b + i;
        pass.words = words + i;
        minima_group(&pass, still);
    }
}

static void scalar_minima(const bm_scheme_params *params, const uint32_t *block, size_t n,
                          bool begun, uint32_t *words)
{
    const bm_sign_pass pass = {.block = block, .n = n, .words = words, .begun = begun};
    all_groups(params, pass, false);
}

static void scalar_arithmetic(const bm_scheme_params *params, size_t n, uint32_t *words)
{
    all_groups(params, (bm_sign_pass){.n = n, .words = words}, true);
}

static void scalar_oph_hash(const bm_scheme_params *params, const uint64_t *hashes, size_t n,
                            uint32_t *block)
{
    const uint32_t a = params->a[0], b = params->b[0];
    for (size_t i = 0; i < n; i++)
        block[i] = bm_oph_hash((uint32_t)hashes[i], a, b);
}

static void scalar_oph_best(const bm_oph_plan *plan, const uint16_t *donors, uint32_t n,
                            uint16_t *best)
{
    memset(best, 0xFF, plan->row * sizeof *best);
    for (uint32_t i = 0; i < n; i++) {
        const uint16_t *offers = plan->offers + (size_t)donors[i] * plan->row;
        for (uint32_t bin = 0; bin < plan->row; bin++)
            best[bin] = offers[bin] < best[bin] ? offers[bin] : best[bin];
    }
}

static uint64_t scalar_oph_empty(const uint32_t *words)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < 64; i++)
        mask |= (uint64_t)(words[i] == BM_OPH_EMPTY) << i;
    return mask;
}

const bm_sign_loops bm_sign_loops_scalar = {
    .isa = BM_ISA_SCALAR,
    .premix = scalar_premix,
    .minima = scalar_minima,
    .arithmetic = scalar_arithmetic,
    .band_keys = bm_band_keys_plain,
    .oph_hash = scalar_oph_hash,
    .oph = {.empty = scalar_oph_empty, .best = scalar_oph_best},
    .cws = &bm_cws_loops_scalar,
    .wide = &bm_wide_loops_scalar};
