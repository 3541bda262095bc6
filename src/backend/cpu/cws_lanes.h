/* cws_lanes.h -- the loops of cws for vectors of LANES doubles, or 2 LANES floats and words of 32
 * bits; for cws_<set>.c, which says LANES and how lanes are told apart (append).
 *
 * The vectors are the compiler's own (an extension that gcc and clang share): the same operations, in
 * the same order, become the instructions of each set. Those on doubles are the ones of
 * base/portable_log.h and sketch/cws_draws.h, one by one, so that all bits are theirs. A number of 32
 * bits becomes a double by putting it into the last bits of 2^52, which is exact.
 *
 * Floats only tell which elements are worth it. With u_j as cws_draws.h has them,
 *
 *     c exp(-r) = -ln(u_2 u_3) u_0 u_1 >= (d + d^2/2 + d^3/3) u_0 u_1,
 *     d = 1 - u_2 u_3 = p_2 + p_3 (1 - p_2),  p_j = 1 - u_j
 *
 * (the series of -ln(1-d), cut). No term is negative, and 1 - p_2 is small only where p_2 is most of d. So
 * the roundings to 24 bits, less than twenty, together make it larger by less than 2^-19 of itself,
 * and the limits of native_cws.c are larger by more. */
#ifndef BM_BACKEND_CPU_CWS_LANES_H
#define BM_BACKEND_CPU_CWS_LANES_H

#include "backend/cpu/cws_loops.h"

typedef uint32_t u32_lanes __attribute__((vector_size(8 * LANES)));
typedef int32_t i32_lanes __attribute__((vector_size(8 * LANES)));
typedef float f32_lanes __attribute__((vector_size(8 * LANES)));
typedef uint64_t u64_lanes __attribute__((vector_size(8 * LANES)));
typedef double f64_lanes __attribute__((vector_size(8 * LANES)));
typedef uint32_t four_words __attribute__((vector_size(16)));
typedef uint64_t two_pairs __attribute__((vector_size(16)));

/* w / 2^32 times SHARES, to the nearest or less. */
static inline f32_lanes shares_of(u32_lanes w);
/* first + the number of each lane whose x is not above its limit, filled into `out`, which has room for
 * all lanes; how many. */
static inline size_t append(uint32_t first, f32_lanes x, f32_lanes limit, uint32_t *out);
/* The same of doubles; those whose x is at most `most`. */
static inline size_t append_low(uint32_t first, f64_lanes x, double most, uint32_t *out);

#define TWO_52_BITS UINT64_C(0x4330000000000000) /* of the double 2^52 */
#define LOW_52      ((UINT64_C(1) << 52) - 1)
#define K_BIAS      UINT64_C(2048) /* makes exponents positive */

/* bm_portable_log of the numbers of these bits, which are not subnormal, times 2^k. */
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

/* w + 1/2 */
static inline f64_lanes half_lanes(u64_lanes w)
{
    return (f64_lanes)(w | TWO_52_BITS) - (0x1p52 - 0.5);
}

/* bm_cws_floor, for |v| < 2^51: to the nearest integer, and back where that is above. */
static inline f64_lanes floor_lanes(f64_lanes v)
{
    const double shift = 0x1.8p52;
    const f64_lanes nearest = (v + shift) - shift;
    const f64_lanes one = (f64_lanes){0} + 1.0;
    return nearest - (f64_lanes)((u64_lanes)(nearest > v) & (u64_lanes)one);
}

/* Words 0 and 1, and 2 and 3; the second is the upper half. */
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

/* One pair after the other, four words at once. */
static void gather(const bm_cws_block *block, const bm_scheme_params *params, const uint32_t *pairs,
                   size_t n, bm_cws_batch *batch)
{
    for (size_t k = 0; k < n; k++) {
        const uint32_t i = pairs[k] & 0xFFFF;
        const uint32_t *a = params->a + (size_t)(pairs[k] >> 16) * BM_CWS_DRAWS;
        const uint32_t *b = params->b + (size_t)(pairs[k] >> 16) * BM_CWS_DRAWS;
        four_words e, x, y;
        memcpy(&e, block->four[i], sizeof e);
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        put_pairs(x * e + y, &batch->words[0][k], &batch->words[1][k]);
        batch->words[2][k] = bm_affine32_value(a[4], block->mixed[4][i], b[4]);
        batch->ln_weight[k] = block->ln_weight[i];
    }
}

/* r or c of these two words: -ln(u u') */
static inline f64_lanes gamma_of(u64_lanes words)
{
    return -log_of(half_lanes(words & UINT32_MAX) * half_lanes(words >> 32) * 0x1p-64);
}

/* bm_cws_value, a step of all at a time: a step waits long for its own result, and a processor sees some
 * hundred operations ahead. What is behind the pairs is looked at to the end of the last register, and
 * taken off. */
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

/* u_j or p_j of words w, times SHARES. */
static inline f32_lanes share(u32_lanes mixed, uint32_t a, uint32_t b)
{
    return shares_of(mixed * a + b);
}

/* Those of one permutation; behind the last. */
static inline uint32_t *candidates_of(const bm_cws_block *block, const bm_scheme_params *params,
                                      uint32_t perm, uint32_t *out)
{
    uint32_t a[4], b[4]; /* of p_2 and p_3 those of the word's complement, ~w = -a e + ~b */
    for (size_t j = 0; j < 4; j++) {
        a[j] = params->a[perm * BM_CWS_DRAWS + j];
        b[j] = params->b[perm * BM_CWS_DRAWS + j];
        a[j] = j < 2 ? a[j] : 0 - a[j];
        b[j] = j < 2 ? b[j] : ~b[j];
    }
    for (uint32_t i = 0; i < block->n_padded; i += 2 * LANES) {
        f32_lanes shares[4];
#pragma GCC unroll 8
        for (size_t j = 0; j < 4; j++)
            shares[j] = share(*(const u32_lanes *)(block->mixed[j] + i), a[j], b[j]);
        const f32_lanes p2 = shares[2] * (1 / SHARES), p3 = shares[3] * (1 / SHARES);
        const f32_lanes d = p2 + p3 * (1.0f - p2);
        const f32_lanes c = d * (1.0f + d * (0.5f + d * 0x1.555554p-2f));
        const f32_lanes least = shares[0] * shares[1] * c;
        out += append(perm << 16 | i, least, *(const f32_lanes *)(block->limit + i), out);
    }
    return out;
}

static size_t candidates(const bm_cws_block *block, const bm_scheme_params *params,
                         const uint16_t *perms, size_t n, bm_cws_batch *batch)
{
    uint32_t *out = batch->pairs + batch->n;
    size_t i = 0;
    while (i < n && out < batch->pairs + BM_CWS_BATCH)
        out = candidates_of(block, params, perms[i++], out);
    batch->n = (size_t)(out - batch->pairs);
    return i;
}

static inline u64_lanes fmix64_lanes(u64_lanes k)
{
    k ^= k >> 33;
    k *= UINT64_C(0xFF51AFD7ED558CCD);
    k ^= k >> 33;
    k *= UINT64_C(0xC4CEB9FE1A85EC53);
    return k ^ (k >> 33);
}

/* Subnormal weights are taken as bits * 2^-1074, as bm_portable_log does. */
static inline f64_lanes log_of_weights(u64_lanes bits)
{
    const u64_lanes small = (u64_lanes)(bits <= LOW_52);
    const f64_lanes whole = (f64_lanes)(bits | TWO_52_BITS) - 0x1p52;
    return log_lanes((small & (u64_lanes)whole) | (~small & bits), small & (0 - UINT64_C(1074)));
}

static void prepare(const uint64_t *hashes, const double *weights, bm_cws_block *block)
{
    for (uint32_t i = 0; i < block->n_padded; i += LANES) {
        u64_lanes x = {0}, weight = {0};
        const uint32_t n = i >= block->n ? 0 : block->n - i < LANES ? block->n - i : LANES;
        memcpy(&x, hashes + i, n * sizeof *hashes);
        memcpy(&weight, weights + i, n * sizeof *weights);
        const u64_lanes e01 = fmix64_lanes(x), e23 = fmix64_lanes(x + BM_CWS_GOLDEN);
        const u64_lanes e4 = fmix64_lanes(x + 2 * BM_CWS_GOLDEN);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            const uint32_t four[] = {(uint32_t)e01[lane], (uint32_t)(e01[lane] >> 32),
                                     (uint32_t)e23[lane], (uint32_t)(e23[lane] >> 32)};
            for (size_t j = 0; j < 4; j++)
                block->four[i + lane][j] = block->mixed[j][i + lane] = four[j];
            block->mixed[4][i + lane] = (uint32_t)e4[lane];
        }
        *(f64_lanes *)(block->ln_weight + i) = log_of_weights(weight);
    }
}

static void set_limits(const double *weights, double greatest, double factor, bm_cws_block *block)
{
    for (uint32_t i = 0; i < block->n_padded; i += LANES) {
        f64_lanes limit = {0};
        const uint32_t n = i >= block->n ? 0 : block->n - i < LANES ? block->n - i : LANES;
        memcpy(&limit, weights + i, n * sizeof *weights);
        limit = limit / greatest * (factor * SHARES * SHARES);
        for (uint32_t lane = 0; lane < LANES; lane++)
            block->limit[i + lane] = lane < n ? (float)limit[lane] : -1;
    }
}

#endif
