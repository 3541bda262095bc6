/* SPDX-License-Identifier: Apache-2.0 */
/* sign_avx512.c -- the loops with AVX-512 F and BW: 16 permutations a register.
 *
 * A pass uses up to 8 registers for minima, and 8 for each of the two coefficients: 128
 * permutations in 24 of the 32 registers. A shingle costs one broadcast load and 8 x (multiply,
 * add, minimum). Only the minimum is carried from shingle to shingle, which takes one cycle, so the
 * multiplier's latency is hidden. b cannot be saved: a*h + b = a*(h + b/a) only replaces one
 * addition by another. IFMA does not help either, because it has half as many lanes, of 52 bits.
 * The limits: Zen 4 runs a 512-bit operation as two halves, and multiplies on two of its four
 * vector pipes, so a register takes 6 halves on 4 pipes, 1.5 cycles. Intel issues the multiply as
 * two operations on port 0, so a register takes 4 operations on ports 0 and 5, 2 cycles.
 *
 * Tests: tests/unit/cpu/test_sign_loops.c, tests/unit/cpu/test_oph_bins.c */
#include <immintrin.h>

#include "cpu/sign_loops_row.h"
#include "kernels/affine32.h"
#include "kernels/oph.h"

#define LANES     16u
#define GROUP_MAX 8u /* registers of minima in a pass */

static inline __m512i fmix32_lanes(__m512i h)
{
    h = _mm512_xor_si512(h, _mm512_srli_epi32(h, 16));
    h = _mm512_mullo_epi32(h, _mm512_set1_epi32((int)0x85EBCA6Bu));
    h = _mm512_xor_si512(h, _mm512_srli_epi32(h, 13));
    h = _mm512_mullo_epi32(h, _mm512_set1_epi32((int)0xC2B2AE35u));
    return _mm512_xor_si512(h, _mm512_srli_epi32(h, 16));
}

/* Return the low halves of those hashes, up to 16, that `lanes` selects, and 0 in the other
 * lanes. */
static inline __m512i low_halves(const uint64_t *hashes, __mmask16 lanes)
{
    const __m512i low = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512i first = _mm512_maskz_loadu_epi64((__mmask8)lanes, hashes);
    __m512i second = _mm512_maskz_loadu_epi64((__mmask8)(lanes >> 8), hashes + 8);
    return _mm512_permutex2var_epi32(first, low, second);
}

static inline __mmask16 lanes_of(size_t left)
{
    const unsigned mask = left >= LANES ? 0xFFFFu : (1u << left) - 1u;
    return (__mmask16)mask;
}

static void avx512_premix(const uint64_t *hashes, size_t n, uint32_t *block)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        _mm512_store_si512(block + i, fmix32_lanes(low_halves(hashes + i, 0xFFFF)));
    if (i < n) { /* only the last store is masked, because reading back a masked store is slow */
        __mmask16 lanes = lanes_of(n - i);
        _mm512_mask_storeu_epi32(block + i, lanes, fmix32_lanes(low_halves(hashes + i, lanes)));
    }
}

static void avx512_oph_hash(const bm_scheme_params *params, const uint64_t *hashes, size_t n,
                            uint32_t *block)
{
    const __m512i a = _mm512_set1_epi32((int)params->a[0]);
    const __m512i b = _mm512_set1_epi32((int)params->b[0]);
    const __m512i most = _mm512_set1_epi32((int)(BM_OPH_EMPTY - 1u));
    for (size_t i = 0; i < n; i += LANES) {
        __mmask16 lanes = lanes_of(n - i);
        __m512i h = fmix32_lanes(low_halves(hashes + i, lanes));
        h = fmix32_lanes(_mm512_add_epi32(_mm512_mullo_epi32(a, h), b));
        _mm512_mask_storeu_epi32(block + i, lanes, _mm512_min_epu32(h, most));
    }
}

/* Process two registers of bins at a time. Each donor takes two loads and two minima. */
static void avx512_oph_best(const bm_oph_plan *plan, const uint16_t *donors, uint32_t n,
                            uint16_t *best)
{
    for (uint32_t at = 0; at < plan->row; at += 64) {
        __m512i low = _mm512_set1_epi16(-1), high = low;
        for (uint32_t i = 0; i < n; i++) {
            const uint16_t *offers = plan->offers + (size_t)donors[i] * plan->row + at;
            low = _mm512_min_epu16(low, _mm512_load_si512(offers));
            high = _mm512_min_epu16(high, _mm512_load_si512(offers + 32));
        }
        _mm512_store_si512(best + at, low);
        _mm512_store_si512(best + at + 32, high);
    }
}

static uint64_t avx512_oph_empty(const uint32_t *words)
{
    const __m512i empty = _mm512_set1_epi32(-1);
    uint64_t mask = 0;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++)
        mask |= (uint64_t)_mm512_cmpeq_epi32_mask(_mm512_load_si512(words + i * 16), empty)
                << (i * 16);
    return mask;
}

/* `count` and `still` (the shingle stays in its register) are constants in each copy, so the arrays
 * become registers. */
static inline __attribute__((always_inline)) void
minima_group(const bm_sign_pass *pass, const uint32_t count, const bool still)
{
    __m512i va[GROUP_MAX], vb[GROUP_MAX], m[GROUP_MAX];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++) {
        va[i] = _mm512_load_si512(pass->a + i * LANES);
        vb[i] = _mm512_load_si512(pass->b + i * LANES);
        m[i] = pass->begun ? _mm512_load_si512(pass->words + i * LANES) : _mm512_set1_epi32(-1);
    }
    const uint32_t *block = pass->block;
    __m512i h = _mm512_set1_epi32(0x12345678);
    for (size_t s = 0; s < pass->n; s++) {
        if (still)
            __asm__ volatile("" : "+v"(h));
        else
            h = _mm512_set1_epi32((int)block[s]);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < count; i++)
            m[i] = _mm512_min_epu32(m[i], _mm512_add_epi32(_mm512_mullo_epi32(va[i], h), vb[i]));
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++)
        _mm512_store_si512(pass->words + i * LANES, m[i]);
}

#include "cpu/sign_groups.h"

const bm_sign_loops bm_sign_loops_avx512 = {
    .isa = BM_ISA_AVX512,
    .premix = avx512_premix,
    .minima = minima,
    .arithmetic = arithmetic,
    .band_keys = bm_band_keys_avx512,
    .oph_hash = avx512_oph_hash,
    .oph = {.empty = avx512_oph_empty, .best = avx512_oph_best},
    .cws = &bm_cws_loops_avx512,
    .wide = &bm_wide_loops_avx512};
