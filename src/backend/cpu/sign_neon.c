/* sign_neon.c -- the loops with NEON (AArch64): 4 permutations a register.
 *
 * 32 registers hold the minima and both coefficients of 8 vectors (32 permutations a pass). The
 * multiply-add takes its shingle from a lane of a register that holds four of them, so a load
 * serves four shingles and nothing is broadcast. */
#include <arm_neon.h>

#include "backend/cpu/sign_loops.h"
#include "kernels/affine32.h"

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

/* `count` is a constant in each copy, so the arrays become registers. */
static inline __attribute__((always_inline)) void minima_group(const uint32_t *a, const uint32_t *b,
                                                               const uint32_t *block, size_t n,
                                                               uint32_t *words,
                                                               const uint32_t count)
{
    uint32x4_t va[GROUP_MAX], vb[GROUP_MAX], m[GROUP_MAX];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++) {
        va[i] = vld1q_u32(a + i * LANES);
        vb[i] = vld1q_u32(b + i * LANES);
        m[i] = vld1q_u32(words + i * LANES);
    }
    size_t s = 0;
    for (; s + 4 <= n; s += 4) {
        uint32x4_t h = vld1q_u32(block + s);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < count; i++) {
            uint32x4_t v0 = vmlaq_laneq_u32(vb[i], va[i], h, 0);
            uint32x4_t v1 = vmlaq_laneq_u32(vb[i], va[i], h, 1);
            uint32x4_t v2 = vmlaq_laneq_u32(vb[i], va[i], h, 2);
            uint32x4_t v3 = vmlaq_laneq_u32(vb[i], va[i], h, 3);
            m[i] = vminq_u32(m[i], vminq_u32(vminq_u32(v0, v1), vminq_u32(v2, v3)));
        }
    }
    for (; s < n; s++) {
        uint32x4_t h = vdupq_n_u32(block[s]);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < count; i++)
            m[i] = vminq_u32(m[i], vmlaq_u32(vb[i], va[i], h));
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++)
        vst1q_u32(words + i * LANES, m[i]);
}

static void neon_minima(const bm_scheme_params *params, const uint32_t *block, size_t n,
                        uint32_t *words)
{
    uint32_t n_vectors = (params->perms + LANES - 1) / LANES;
    uint32_t vector = 0;
    for (; vector + GROUP_MAX <= n_vectors; vector += GROUP_MAX) {
        size_t at = (size_t)vector * LANES;
        minima_group(params->a + at, params->b + at, block, n, words + at, GROUP_MAX);
    }
    for (; vector < n_vectors; vector += 2) { /* padded to 64 words, so a pair is always whole */
        size_t at = (size_t)vector * LANES;
        minima_group(params->a + at, params->b + at, block, n, words + at, 2);
    }
}

const bm_sign_loops bm_sign_loops_neon = {
    .isa = BM_ISA_NEON, .premix = neon_premix, .minima = neon_minima};
