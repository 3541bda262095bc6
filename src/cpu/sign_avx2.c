/* SPDX-License-Identifier: Apache-2.0 */
/* sign_avx2.c -- the loops with AVX2: 8 permutations a register.
 *
 * 16 registers are enough for the minima and both coefficients of 4 vectors (32 permutations a
 * pass), the broadcast shingle and temporaries. The premixed block is read again for each pass,
 * with one broadcast load for 12 operations. The limits: Zen runs the 3 operations of a vector on 4
 * pipes, in 0.75 cycles. Intel's multiply is two operations on ports 0 and 1, so a vector takes 4
 * operations on 3 ports.
 *
 * Tests: tests/unit/cpu/test_sign_loops.c, tests/unit/cpu/test_oph_bins.c */
#include <immintrin.h>

#include "cpu/sign_loops_row.h"
#include "kernels/affine32.h"
#include "kernels/oph.h"

#define LANES     8u
#define GROUP_MAX 4u /* registers of minima in a pass */

static inline __m256i fmix32_lanes(__m256i h)
{
    h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
    h = _mm256_mullo_epi32(h, _mm256_set1_epi32((int)0x85EBCA6Bu));
    h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 13));
    h = _mm256_mullo_epi32(h, _mm256_set1_epi32((int)0xC2B2AE35u));
    return _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
}

/* Return the low halves of 8 hashes. */
static inline __m256i low_halves(const uint64_t *hashes)
{
    __m256 first = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)hashes));
    __m256 second = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(hashes + 4)));
    /* in each half of x: the even words of `first`, then those of `second`; the permutation puts
     * the quarters in order */
    __m256i x = _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0x88));
    return _mm256_permute4x64_epi64(x, 0xD8);
}

static void avx2_premix(const uint64_t *hashes, size_t n, uint32_t *block)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        _mm256_store_si256((__m256i *)(block + i), fmix32_lanes(low_halves(hashes + i)));
    for (; i < n; i++)
        block[i] = bm_fmix32((uint32_t)hashes[i]);
}

/* Fold one shingle, which is in all lanes of `h`, into `count` registers of minima. */
static inline __attribute__((always_inline)) void
fold(__m256i *m, const __m256i *va, const __m256i *vb, __m256i h, const uint32_t count)
{
#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++)
        m[i] = _mm256_min_epu32(m[i], _mm256_add_epi32(_mm256_mullo_epi32(va[i], h), vb[i]));
}

static inline __attribute__((always_inline)) __m256i shingle(__m256i h, const uint32_t *block,
                                                             size_t s, const bool still)
{
    if (!still)
        return _mm256_set1_epi32((int)block[s]);
    __asm__ volatile("" : "+x"(h));
    return h;
}

/* `count` and `still` are constants in each copy, so the arrays become registers. An iteration
 * takes two shingles. With one shingle, an iteration would be as long as a line of the cache of
 * decoded instructions, and on Zen 4 the loop is 16 % slower at some addresses. */
static inline __attribute__((always_inline)) void
minima_group(const bm_sign_pass *pass, const uint32_t count, const bool still)
{
    __m256i va[GROUP_MAX], vb[GROUP_MAX], m[GROUP_MAX];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++) {
        va[i] = _mm256_load_si256((const __m256i *)(pass->a + i * LANES));
        vb[i] = _mm256_load_si256((const __m256i *)(pass->b + i * LANES));
        m[i] = pass->begun ? _mm256_load_si256((const __m256i *)(pass->words + i * LANES))
                           : _mm256_set1_epi32(-1);
    }
    const uint32_t *block = pass->block;
    __m256i h = _mm256_set1_epi32(0x12345678);
    size_t s = 0;
    for (; s + 2 <= pass->n; s += 2) {
        fold(m, va, vb, h = shingle(h, block, s, still), count);
        fold(m, va, vb, h = shingle(h, block, s + 1, still), count);
    }
    if (s < pass->n)
        fold(m, va, vb, shingle(h, block, s, still), count);
#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++)
        _mm256_store_si256((__m256i *)(pass->words + i * LANES), m[i]);
}

#include "cpu/sign_groups.h"

static void avx2_oph_hash(const bm_scheme_params *params, const uint64_t *hashes, size_t n,
                          uint32_t *block)
{
    const __m256i a = _mm256_set1_epi32((int)params->a[0]);
    const __m256i b = _mm256_set1_epi32((int)params->b[0]);
    const __m256i most = _mm256_set1_epi32((int)(BM_OPH_EMPTY - 1u));
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m256i h = fmix32_lanes(low_halves(hashes + i));
        h = fmix32_lanes(_mm256_add_epi32(_mm256_mullo_epi32(a, h), b));
        _mm256_store_si256((__m256i *)(block + i), _mm256_min_epu32(h, most));
    }
    for (; i < n; i++)
        block[i] = bm_oph_hash((uint32_t)hashes[i], params->a[0], params->b[0]);
}

/* Process four registers of bins at a time. Each donor takes a load and a minimum for each
 * register. */
static void avx2_oph_best(const bm_oph_plan *plan, const uint16_t *donors, uint32_t n,
                          uint16_t *best)
{
    for (uint32_t at = 0; at < plan->row; at += 64) {
        __m256i least[4];
#pragma GCC unroll 4
        for (uint32_t j = 0; j < 4; j++)
            least[j] = _mm256_set1_epi16(-1);
        for (uint32_t i = 0; i < n; i++) {
            const uint16_t *offers = plan->offers + (size_t)donors[i] * plan->row + at;
#pragma GCC unroll 4
            for (uint32_t j = 0; j < 4; j++)
                least[j] = _mm256_min_epu16(least[j],
                                            _mm256_load_si256((const __m256i *)(offers + j * 16)));
        }
#pragma GCC unroll 4
        for (uint32_t j = 0; j < 4; j++)
            _mm256_store_si256((__m256i *)(best + at + j * 16), least[j]);
    }
}

static uint64_t avx2_oph_empty(const uint32_t *words)
{
    const __m256i empty = _mm256_set1_epi32(-1);
    uint64_t mask = 0;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; i++) {
        __m256i same =
            _mm256_cmpeq_epi32(_mm256_load_si256((const __m256i *)(words + i * 8)), empty);
        mask |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(same)) << (i * 8);
    }
    return mask;
}

const bm_sign_loops bm_sign_loops_avx2 = {.isa = BM_ISA_AVX2,
                                          .premix = avx2_premix,
                                          .minima = minima,
                                          .arithmetic = arithmetic,
                                          .band_keys = bm_band_keys_plain,
                                          .oph_hash = avx2_oph_hash,
                                          .oph = {.empty = avx2_oph_empty, .best = avx2_oph_best},
                                          .cws = &bm_cws_loops_avx2,
                                          .wide = &bm_wide_loops_avx2};
