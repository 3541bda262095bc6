/* SPDX-License-Identifier: Apache-2.0 */
/* cws_lanes.h -- the loops of cws for vectors of LANES doubles, or of 2 LANES floats or words of 32
 * bits. It is included by cws_<set>.c, which defines LANES and how bytes are compared (at_most).
 *
 * The vectors are an extension of the language that gcc and clang share. So the same operations, in
 * the same order, become the instructions of each set. The operations on doubles are exactly those
 * of base/portable_log.h and sketch/cws_draws.h, so all bits are the same. A 32-bit number becomes
 * a double by putting it into the last bits of 2^52, which is exact.
 *
 * Floats only decide which elements are computed exactly. With u_j as in cws_draws.h,
 *
 *     c exp(-r) = -ln(u_2 u_3) u_0 u_1 >= (d + d^2/2 + d^3/3) u_0 u_1,
 *     d = 1 - u_2 u_3 = p_2 + p_3 (1 - p_2),  p_j = 1 - u_j
 *
 * (the first terms of the series of -ln(1-d)). No term is negative, and if 1 - p_2 is small, p_2 is
 * most of d. So the roundings to 24 bits, of which there are fewer than twenty, raise the bound by
 * less than 2^-19 of itself. native_cws.c raises its limits by more than that.
 *
 * Bounds and limits are reduced to a byte. The byte is the exponent and the first four bits after
 * the point, counted from 2^-15; outside the range of a byte it is 0 or 255. If a number grows, its
 * byte does not fall. So if a bound is within its limit, the byte of the bound is within the byte
 * of the limit. A limit that is infinite or NaN has the byte 255, so that everything passes. */
#pragma once

#include "cpu/cws_loops.h"

typedef uint32_t u32_lanes __attribute__((vector_size(8 * LANES)));
typedef int32_t i32_lanes __attribute__((vector_size(8 * LANES)));
typedef float f32_lanes __attribute__((vector_size(8 * LANES)));
typedef uint64_t u64_lanes __attribute__((vector_size(8 * LANES)));
typedef double f64_lanes __attribute__((vector_size(8 * LANES)));
typedef float f32_half __attribute__((vector_size(4 * LANES)));
typedef uint8_t u8_lanes __attribute__((vector_size(2 * LANES)));
typedef uint32_t four_words __attribute__((vector_size(16)));
typedef uint64_t two_pairs __attribute__((vector_size(16)));

#define SHARES ((float)(UINT64_C(1) << SHARES_BITS)) /* SHARES_BITS: in cws_<set>.c */

/* Return w / 2^32 times SHARES, rounded to the nearest or down. */
static inline f32_lanes shares_of(u32_lanes w);
/* Return one bit for each of 64 bytes: is the byte at most `limit`? For some instruction sets, a
 * few higher bytes pass too. */
static inline uint64_t at_most(const uint8_t *bytes, uint8_t limit);
/* Fill `out` with first + more + byte * 2^16 for each of eight bytes, the lowest byte first. `more`
 * must be a constant. */
static inline void put_eight(uint64_t bytes, uint32_t first, uint32_t more, uint32_t *out);
/* Append first + i to `out` for each lane i in which x is at most `most`. `out` must have room for
 * all lanes. Returns how many were appended. */
static inline size_t append_low(uint32_t first, f64_lanes x, double most, uint32_t *out);

#define TWO_52_BITS UINT64_C(0x4330000000000000) /* bits of the double 2^52 */
#define LOW_52      ((UINT64_C(1) << 52) - 1)
#define K_BIAS      UINT64_C(2048) /* makes exponents positive */

/* Return bm_portable_log of the numbers with these bits, times 2^k. The numbers must not be
 * subnormal. */
static inline f64_lanes log_lanes(u64_lanes bits, u64_lanes k)
{
    const u64_lanes above = bits - BM_LOG_SQRT_HALF + (K_BIAS << 52);
    const f64_lanes exponent =
        (f64_lanes)(((above >> 52) + k) | TWO_52_BITS) - (0x1p52 + (double)K_BIAS);
    const f64_lanes m = (f64_lanes)((above & LOW_52) + BM_LOG_SQRT_HALF);
    const f64_lanes s = (m - 1.0) / (m + 1.0), z = s * s;
    f64_lanes p = bm_log_series[0] * z + bm_log_series[1];
#pragma GCC unroll 8
    for (int i = 2; i < BM_LOG_TERMS; i++)
        p = p * z + bm_log_series[i];
    const f64_lanes ln_m = (s + s) + (s * z) * p;
    return exponent * BM_LOG_LN2_HIGH + (ln_m + exponent * BM_LOG_LN2_LOW);
}

static inline f64_lanes log_of(f64_lanes x)
{
    return log_lanes((u64_lanes)x, (u64_lanes){0});
}

/* Return w + 1/2. */
static inline f64_lanes half_lanes(u64_lanes w)
{
    return (f64_lanes)(w | TWO_52_BITS) - (0x1p52 - 0.5);
}

/* Compute bm_cws_floor for |v| < 2^51: round to the nearest integer, and subtract 1 in the lanes in
 * which that is above v. */
static inline f64_lanes floor_lanes(f64_lanes v)
{
    const double shift = 0x1.8p52;
    const f64_lanes nearest = (v + shift) - shift;
    const f64_lanes one = (f64_lanes){0} + 1.0;
    return nearest - (f64_lanes)((u64_lanes)(nearest > v) & (u64_lanes)one);
}

/* Pack words 0 and 1 into one number, and words 2 and 3 into another. The second word of each is
 * the upper half. */
static inline void put_pairs(four_words w, uint64_t *first, uint64_t *second)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    *first = ((two_pairs)w)[0];
    *second = ((two_pairs)w)[1];
#else
    *first = w[0] | (uint64_t)w[1] << 32;
    *second = w[2] | (uint64_t)w[3] << 32;
#endif
}

/* Gather the pairs one after another, four words at once. */
static void gather(const bm_cws_block *block, const bm_scheme_params *params, const uint32_t *pairs,
                   size_t n, bm_cws_batch *batch)
{
    for (size_t k = 0; k < n; k++) {
        const uint32_t i = pairs[k] & 0xFFFF;
        const uint32_t *a = params->a + (size_t)(pairs[k] >> 16) * BM_CWS_DRAWS;
        const uint32_t *b = params->b + (size_t)(pairs[k] >> 16) * BM_CWS_DRAWS;
        four_words e, x, y;
        memcpy(&e, block->mixed[i], sizeof e);
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        put_pairs(x * e + y, &batch->words[0][k], &batch->words[1][k]);
        batch->words[2][k] = bm_affine32_value(a[4], block->mixed[i][4], b[4]);
        batch->ln_weight[k] = block->ln_weight[i];
    }
}

/* Compute r or c from two words: -ln(u u'). */
static inline f64_lanes gamma_of(u64_lanes words)
{
    return -log_of(half_lanes(words & UINT32_MAX) * half_lanes(words >> 32) * 0x1p-64);
}

/* Compute bm_cws_value for all pairs. Each step is done for all pairs before the next step, because
 * the steps of one pair depend on each other, and a processor looks only some hundred operations
 * ahead. The last register may have lanes without a pair. These are computed too, and dropped. */
static size_t values(const bm_cws_block *block, const bm_scheme_params *params, size_t first,
                     double most, bm_cws_batch *batch)
{
    const size_t left = batch->n - first, n = left < BM_CWS_BATCH ? left : BM_CWS_BATCH;
    size_t n_low = 0;
    gather(block, params, batch->pairs + first, n, batch);
    for (size_t i = 0; i < n; i += LANES)
        *(f64_lanes *)(batch->r + i) = gamma_of(*(const u64_lanes *)(batch->words[0] + i));
    for (size_t i = 0; i < n; i += LANES)
        *(f64_lanes *)(batch->c + i) = gamma_of(*(const u64_lanes *)(batch->words[1] + i));
    for (size_t i = 0; i < n; i += LANES)
        *(f64_lanes *)(batch->c + i) = log_of(*(const f64_lanes *)(batch->c + i));
    for (size_t i = 0; i < n; i += LANES) {
        const f64_lanes r = *(const f64_lanes *)(batch->r + i);
        const f64_lanes beta = half_lanes(*(const u64_lanes *)(batch->words[2] + i)) * 0x1p-32;
        const f64_lanes t = floor_lanes(*(const f64_lanes *)(batch->ln_weight + i) / r + beta);
        const f64_lanes value = *(const f64_lanes *)(batch->c + i) - r * ((t - beta) + 1.0);
        *(f64_lanes *)(batch->value + i) = value;
        n_low += append_low((uint32_t)i, value, most, batch->low + n_low);
    }
    while (n_low > 0 && batch->low[n_low - 1] >= n)
        n_low--;
    return n_low;
}

/* The step of a float is its bits without the last STEP_BITS: the exponent, and the first four bits
 * after the point. */
#define STEP_BITS 19
#define LOW_STEP  ((127 + 2 * SHARES_BITS - 15) * 16) /* the step of 2^-15 * SHARES^2 */

/* Reduce numbers to bytes, as described at the top of this file. The numbers in `x` are multiplied
 * by SHARES^2. They are not negative, but a NaN may have either sign. */
static inline u8_lanes bytes_of(f32_lanes x)
{
    const i32_lanes step = (i32_lanes)((u32_lanes)x >> STEP_BITS) - LOW_STEP;
    const i32_lanes least = step & (i32_lanes)(step > 0), above = (i32_lanes)(least > 255);
    return __builtin_convertvector((least & ~above) | (above & 255), u8_lanes);
}

static void bounds(const uint32_t *coefs, uint32_t stride, uint32_t n, const uint32_t *mixed,
                   uint8_t *out)
{
    for (uint32_t i = 0; i < n; i += 2 * LANES) {
        f32_lanes shares[4];
#pragma GCC unroll 8
        for (size_t j = 0; j < 4; j++) {
            const u32_lanes a = *(const u32_lanes *)(coefs + j * stride + i);
            const u32_lanes b = *(const u32_lanes *)(coefs + (4 + j) * stride + i);
            shares[j] = shares_of(a * mixed[j] + b);
        }
        const f32_lanes p2 = shares[2] * (1 / SHARES), p3 = shares[3] * (1 / SHARES);
        const f32_lanes d = p2 + p3 * (1.0f - p2);
        const f32_lanes c = d * (1.0f + d * (0.5f + d * 0x1.555554p-2f));
        *(u8_lanes *)(out + i) = bytes_of(shares[0] * shares[1] * c);
    }
}

/* For each byte value: the positions of its set bits, the lowest first, one byte for each. */
#define BIT(b, i)   ((uint64_t)(b) >> (i)&1)
#define BELOW(b, i) __builtin_popcount((b) & ((1u << (i)) - 1))
#define PLACE(b, i) (BIT(b, i) * (i) << 8 * BELOW(b, i))
#define PLACES(b)                                                                                  \
    (PLACE(b, 1) | PLACE(b, 2) | PLACE(b, 3) | PLACE(b, 4) | PLACE(b, 5) | PLACE(b, 6) |           \
     PLACE(b, 7))
#define PLACES_4(b)  PLACES(b), PLACES((b) + 1), PLACES((b) + 2), PLACES((b) + 3)
#define PLACES_16(b) PLACES_4(b), PLACES_4((b) + 4), PLACES_4((b) + 8), PLACES_4((b) + 12)
#define PLACES_64(b) PLACES_16(b), PLACES_16((b) + 16), PLACES_16((b) + 32), PLACES_16((b) + 48)
static const uint64_t places_of_bits[256] = {PLACES_64(0), PLACES_64(64), PLACES_64(128),
                                             PLACES_64(192)};

/* Fill `out` with first + i * 2^16 for each set bit i. Returns the end of the filled part. Eight
 * words are always written for each byte of `bits`, because a branch on the number of set bits
 * would often be mispredicted, which costs more. */
static inline uint32_t *append_bits(uint32_t first, uint64_t bits, uint32_t *out)
{
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 64; i += 8) {
        const uint32_t byte = bits >> i & 0xFF;
        put_eight(places_of_bits[byte], first, i << 16, out);
        out += __builtin_popcount(byte);
    }
    return out;
}

/* Store the non-empty masks of the next elements in `scan`, for as many elements as fit. All masks
 * are read first, so that the loads of several rows overlap. */
static inline void look_at_rows(const bm_cws_block *block, const bm_cws_open *open,
                                bm_cws_scan *scan)
{
    const uint32_t n_masks = open->n_masks;
    uint32_t n = 0, i = scan->next;
    for (; i < block->n && n + n_masks <= BM_CWS_MASKS; i++) {
        const uint8_t *row = scan->bytes + (size_t)scan->row[i] * scan->stride;
        for (uint32_t m = 0; m < n_masks; m++) {
            const uint8_t limit = block->limit_byte[i];
            scan->bits[n] = at_most(row + BM_CWS_MASK * m, limit) & open->masks[m];
            scan->first[n] = BM_CWS_MASK * m << 16 | i;
            n += scan->bits[n] != 0;
        }
    }
    scan->next = i;
    scan->at = 0;
    scan->n = n;
}

static bool candidates(const bm_cws_block *block, const bm_cws_open *open, bm_cws_scan *scan,
                       bm_cws_batch *batch)
{
    const uint32_t *end = batch->pairs + BM_CWS_BATCH;
    uint32_t *out = batch->pairs + batch->n;
    while (out < end && (scan->at < scan->n || scan->next < block->n)) {
        if (scan->at == scan->n)
            look_at_rows(block, open, scan);
        for (; scan->at < scan->n && out < end; scan->at++)
            out = append_bits(scan->first[scan->at], scan->bits[scan->at], out);
    }
    batch->n = (size_t)(out - batch->pairs);
    return scan->at < scan->n || scan->next < block->n;
}

/* Return the logarithms of the weights with these bits. A subnormal weight counts as bits *
 * 2^-1074, as in bm_portable_log. */
static inline f64_lanes log_of_weights(u64_lanes bits)
{
    const u64_lanes small = (u64_lanes)(bits <= LOW_52);
    const f64_lanes whole = (f64_lanes)(bits | TWO_52_BITS) - 0x1p52;
    return log_lanes((small & (u64_lanes)whole) | (~small & bits), small & (0 - UINT64_C(1074)));
}

static void log_weights(const double *weights, bm_cws_block *block)
{
    for (uint32_t i = 0; i < block->n; i += LANES) {
        u64_lanes weight = {0};
        const uint32_t n = block->n - i < LANES ? block->n - i : LANES;
        memcpy(&weight, weights + i, n * sizeof *weights);
        *(f64_lanes *)(block->ln_weight + i) = log_of_weights(weight);
    }
}

static void set_limits(const double *weights, double greatest, double factor, bm_cws_block *block)
{
    for (uint32_t i = 0; i < block->n; i += LANES) {
        f64_lanes limit = {0};
        const uint32_t n = block->n - i < LANES ? block->n - i : LANES;
        memcpy(&limit, weights + i, n * sizeof *weights);
        limit = limit / greatest * (factor * SHARES * SHARES);
        *(f32_half *)(block->limit + i) = __builtin_convertvector(limit, f32_half);
    }
    for (uint32_t i = 0; i < block->n; i += 2 * LANES)
        *(u8_lanes *)(block->limit_byte + i) = bytes_of(*(const f32_lanes *)(block->limit + i));
}
