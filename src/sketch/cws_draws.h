/* SPDX-License-Identifier: Apache-2.0 */
/* cws_draws.h -- the numbers that consistent weighted sampling draws for an element and a
 * permutation, and the value that is computed from them. The reference and the native CPU share
 * this arithmetic of the scheme cws.
 *
 * Ioffe, "Improved Consistent Sampling, Weighted Minhash and L1 Sketching" (ICDM 2010), algorithm
 * 1: for an element k of weight S, draw r, c ~ Gamma(2, 1) and beta ~ Uniform(0, 1), which depend
 * only on k and the permutation. Then compute
 *
 *     t = floor(ln S / r + beta),  ln a = ln c - r (t - beta + 1)
 *
 * (the logarithm of Ioffe's a = c / (y exp r) with y = exp(r (t - beta))). The element with the
 * smallest a is chosen. The probability that two documents choose the same element is the sum of
 * the smaller weights divided by the sum of the greater weights. The word is made from the element
 * without t, which is 0-bit consistent weighted sampling (Li, KDD 2015).
 *
 * A Gamma(2, 1) variable is -ln(u u') of two independent uniform variables. So five uniform
 * variables are needed. Each is (w + 1/2) / 2^32 for a 32-bit word w, so it is never 0 or 1:
 *
 *     w_j = a_ij e_j + b_ij mod 2^32,  j = 0 … 4, in permutation i;  a_ij odd
 *     r = -ln(u_0 u_1),  c = -ln(u_2 u_3),  beta = u_4
 *
 * The e_j are halves of fmix64(x + n G), where x is the hash of the element, and G is the fraction
 * of the golden ratio. e_0 and e_1 are the low and the high half for n = 0, e_2 and e_3 those for n
 * = 1, and e_4 is the low half for n = 2. Words are multiplied and added as in affine32, which is
 * 2-universal. Each of the five variables has its own coefficients and words, so they are
 * independent.
 *
 * The arithmetic uses integers, and IEEE 754 doubles as in base/portable_log.h. Code that does
 * these operations in this order gets the same bits. */
#pragma once

#include <stdbool.h>

#include "base/portable_log.h"
#include "kernels/affine32.h"

#define BM_CWS_DRAWS  5u
#define BM_CWS_GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/* Set e[0] … e[4] to e_0 … e_4 of an element. */
static inline void bm_cws_mix(uint64_t hash, uint32_t *e)
{
    const uint64_t x = bm_fmix64(hash), y = bm_fmix64(hash + BM_CWS_GOLDEN);
    e[0] = (uint32_t)x;
    e[1] = (uint32_t)(x >> 32);
    e[2] = (uint32_t)y;
    e[3] = (uint32_t)(y >> 32);
    e[4] = (uint32_t)bm_fmix64(hash + 2 * BM_CWS_GOLDEN);
}

/* w + 1/2, which is exact. */
static inline double bm_cws_half(uint32_t w)
{
    return (double)w + 0.5;
}

/* The largest integer that is at most v. |v| must be less than 2^63. */
static inline double bm_cws_floor(double v)
{
    const double whole = (double)(int64_t)v;
    return whole > v ? whole - 1.0 : whole;
}

/* ln a of an element in one permutation. `w`: its five words; ln_weight: the logarithm of its
 * weight. */
static inline double bm_cws_value(const uint32_t *w, double ln_weight)
{
    const double r = -bm_portable_log(bm_cws_half(w[0]) * bm_cws_half(w[1]) * 0x1p-64);
    const double c = -bm_portable_log(bm_cws_half(w[2]) * bm_cws_half(w[3]) * 0x1p-64);
    const double beta = bm_cws_half(w[4]) * 0x1p-32;
    const double t = bm_cws_floor(ln_weight / r + beta);
    return bm_portable_log(c) - r * ((t - beta) + 1.0);
}

/* Is the element with `value` and `hash` chosen instead of the best one so far? The smaller value
 * of ln a wins; if the values are equal, the lower hash. */
static inline bool bm_cws_before(double value, uint64_t hash, double best, uint64_t best_hash)
{
    return value < best || (value == best && hash < best_hash);
}
