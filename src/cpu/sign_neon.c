/* SPDX-License-Identifier: Apache-2.0 */
/* sign_neon.c -- the loops with NEON (AArch64): 4 permutations a register.
 *
 * 32 registers are enough for the minima and both coefficients of 8 vectors (32 permutations a
 * pass). The multiply-add takes its shingle from a lane of a register with four shingles. So one
 * load serves four shingles, and nothing is broadcast.
 *
 * Tests: tests/cross/neon_check.c */
#include <arm_neon.h>

#include "cpu/sign_loops_row.h"
#include "kernels/affine32.h"
#include "kernels/oph.h"

#define LANES     4u
#define GROUP_MAX 8u /* registers of minima in a pass */

static inline uint32x4_t fmix32_lanes(uint32x4_t h)
{
    h = veorq_u32(h, vshrq_n_u32(h, 16));
    h = vmulq_u32(h, vdupq_n_u32(0x85EBCA6Bu));
    h = veorq_u32(h, vshrq_n_u32(h, 13));
    h = vmulq_u32(h, vdupq_n_u32(0xC2B2AE35u));
    return veorq_u32(h, vshrq_n_u32(h, 16));
}

static void neon_premix(const uint64_t *hashes, size_t n, uint32_t *block)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        uint32x4_t first = vreinterpretq_u32_u64(vld1q_u64(hashes + i));
        uint32x4_t second = vreinterpretq_u32_u64(vld1q_u64(hashes + i + 2));
        vst1q_u32(block + i, fmix32_lanes(vuzp1q_u32(first, second)));
    }
    for (; i < n; i++)
        block[i] = bm_fmix32((uint32_t)hashes[i]);
}

/* `count` and `still` (the shingles stay in their register) are constants in each copy, so the
 * arrays become registers. */
static inline __attribute__((always_inline)) void
minima_group(const bm_sign_pass *pass, const uint32_t count, const bool still)
{
    uint32x4_t va[GROUP_MAX], vb[GROUP_MAX], m[GROUP_MAX];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++) {
        va[i] = vld1q_u32(pass->a + i * LANES);
        vb[i] = vld1q_u32(pass->b + i * LANES);
        m[i] = pass->begun ? vld1q_u32(pass->words + i * LANES) : vdupq_n_u32(UINT32_MAX);
    }
    const uint32_t *block = pass->block;
    uint32x4_t h = vdupq_n_u32(0x12345678u);
    size_t s = 0;
    for (; s + 4 <= pass->n; s += 4) {
        if (still)
            __asm__ volatile("" : "+w"(h));
        else
            h = vld1q_u32(block + s);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < count; i++) {
            uint32x4_t v0 = vmlaq_laneq_u32(vb[i], va[i], h, 0);
            uint32x4_t v1 = vmlaq_laneq_u32(vb[i], va[i], h, 1);
            uint32x4_t v2 = vmlaq_laneq_u32(vb[i], va[i], h, 2);
            uint32x4_t v3 = vmlaq_laneq_u32(vb[i], va[i], h, 3);
            m[i] = vminq_u32(m[i], vminq_u32(vminq_u32(v0, v1), vminq_u32(v2, v3)));
        }
    }
    for (; !still && s < pass->n; s++) {
        h = vdupq_n_u32(block[s]);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < count; i++)
            m[i] = vminq_u32(m[i], vmlaq_u32(vb[i], va[i], h));
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++)
        vst1q_u32(pass->words + i * LANES, m[i]);
}

static inline __attribute__((always_inline)) void all_groups(const bm_scheme_params *params,
                                                             bm_sign_pass pass, const bool still)
{
    uint32_t n_vectors = (params->perms + LANES - 1) / LANES;
    uint32_t *words = pass.words;
    for (uint32_t vector = 0; vector < n_vectors;) {
        pass.a = params->a + (size_t)vector * LANES;
        pass.b = params->b + (size_t)vector * LANES;
        pass.words = words + (size_t)vector * LANES;
        if (n_vectors - vector >= GROUP_MAX) {
            minima_group(&pass, GROUP_MAX, still);
            vector += GROUP_MAX;
        } else { /* words are padded to 64, so pairs are whole */
            minima_group(&pass, 2, still);
            vector += 2;
        }
    }
}

static void neon_minima(const bm_scheme_params *params, const uint32_t *block, size_t n, bool begun,
                        uint32_t *words)
{
    const bm_sign_pass pass = {.block = block, .n = n, .words = words, .begun = begun};
    all_groups(params, pass, false);
}

static void neon_arithmetic(const bm_scheme_params *params, size_t n, uint32_t *words)
{
    all_groups(params, (bm_sign_pass){.n = n, .words = words}, true);
}

static void neon_oph_hash(const bm_scheme_params *params, const uint64_t *hashes, size_t n,
                          uint32_t *block)
{
    const uint32x4_t a = vdupq_n_u32(params->a[0]), b = vdupq_n_u32(params->b[0]);
    const uint32x4_t most = vdupq_n_u32(BM_OPH_EMPTY - 1u);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        uint32x4_t first = vreinterpretq_u32_u64(vld1q_u64(hashes + i));
        uint32x4_t second = vreinterpretq_u32_u64(vld1q_u64(hashes + i + 2));
        uint32x4_t h = fmix32_lanes(vuzp1q_u32(first, second));
        vst1q_u32(block + i, vminq_u32(fmix32_lanes(vmlaq_u32(b, a, h)), most));
    }
    for (; i < n; i++)
        block[i] = bm_oph_hash((uint32_t)hashes[i], params->a[0], params->b[0]);
}

/* Process eight registers of bins at a time. Each donor takes a load and a minimum for each
 * register. */
static void neon_oph_best(const bm_oph_plan *plan, const uint16_t *donors, uint32_t n,
                          uint16_t *best)
{
    for (uint32_t at = 0; at < plan->row; at += 64) {
        uint16x8_t least[8];
#pragma GCC unroll 8
        for (uint32_t j = 0; j < 8; j++)
            least[j] = vdupq_n_u16(UINT16_MAX);
        for (uint32_t i = 0; i < n; i++) {
            const uint16_t *offers = plan->offers + (size_t)donors[i] * plan->row + at;
#pragma GCC unroll 8
            for (uint32_t j = 0; j < 8; j++)
                least[j] = vminq_u16(least[j], vld1q_u16(offers + j * 8));
        }
#pragma GCC unroll 8
        for (uint32_t j = 0; j < 8; j++)
            vst1q_u16(best + at + j * 8, least[j]);
    }
}

/* Process four words at a time. Each lane of the comparison gives a bit of its own, and the lanes
 * are added up. */
static uint64_t neon_oph_empty(const uint32_t *words)
{
    static const uint32_t bits[4] = {1, 2, 4, 8};
    const uint32x4_t empty = vdupq_n_u32(BM_OPH_EMPTY), bit = vld1q_u32(bits);
    uint64_t mask = 0;
    for (uint32_t i = 0; i < 16; i++) {
        uint32x4_t same = vceqq_u32(vld1q_u32(words + i * 4), empty);
        mask |= (uint64_t)vaddvq_u32(vandq_u32(same, bit)) << (i * 4);
    }
    return mask;
}

const bm_sign_loops bm_sign_loops_neon = {.isa = BM_ISA_NEON,
                                          .premix = neon_premix,
                                          .minima = neon_minima,
                                          .arithmetic = neon_arithmetic,
                                          .band_keys = bm_band_keys_plain,
                                          .oph_hash = neon_oph_hash,
                                          .oph = {.empty = neon_oph_empty, .best = neon_oph_best},
                                          .cws = &bm_cws_loops_neon,
                                          .wide = &bm_wide_loops_scalar};
