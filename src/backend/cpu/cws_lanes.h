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
 *     c exp(-r) = -ln(u_2 u_3) u_0 u_1 >= (d + d^2/2) u_0 u_1,
 *     d = 1 - u_2 u_3 = p_2 + p_3 (1 - p_2),  p_j = 1 - u_j
 *
 * (the series of -ln(1-d), cut). All of it is sums and products of numbers that are not negative, each of
 * which is cut to 31 bits and so not too large; the roundings together make it larger by less than
 * 2^-19 of itself, which the limits of native_cws.c are larger by. */
#ifndef BM_BACKEND_CPU_CWS_LANES_H
#define BM_BACKEND_CPU_CWS_LANES_H

#include "backend/cpu/cws_loops.h"

typedef uint32_t u32_lanes __attribute__((vector_size(8 * LANES)));
typedef int32_t i32_lanes __attribute__((vector_size(8 * LANES)));
typedef float f32_lanes __attribute__((vector_size(8 * LANES)));
typedef uint64_t u64_lanes __attribute__((vector_size(8 * LANES)));
typedef double f64_lanes __attribute__((vector_size(8 * LANES)));

/* first + the number of each lane whose x is not above its limit, filled into `out`, which has room for
 * all lanes; how many. */
static inline size_t append(uint32_t first, f32_lanes x, f32_lanes limit, uint32_t *out);

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

/* One pair after the other: to load eight numbers from eight places is no faster in a register. */
static void gather(const bm_cws_block *block, const bm_scheme_params *params, const uint32_t *pairs,
                   size_t n, bm_cws_batch *batch)
{
    for (size_t k = 0; k < n; k++) {
        const uint32_t i = pairs[k] & 0xFFFF;
        const uint32_t *a = params->a + (size_t)(pairs[k] >> 16) * BM_CWS_DRAWS;
        const uint32_t *b = params->b + (size_t)(pairs[k] >> 16) * BM_CWS_DRAWS;
#pragma GCC unroll 8
        for (size_t j = 0; j < BM_CWS_DRAWS; j++)
            batch->words[j][k] = bm_affine32_value(a[j], block->mixed[j][i], b[j]);
        batch->ln_weight[k] = block->ln_weight[i];
    }
}

/* bm_cws_value; what is behind n is looked at to the end of the last register. */
static void values(const bm_cws_block *block, const bm_scheme_params *params, size_t first,
                   size_t n, bm_cws_batch *batch)
{
    gather(block, params, batch->pairs + first, n, batch);
    for (size_t i = 0; i < n; i += LANES) {
        f64_lanes u[BM_CWS_DRAWS];
        for (size_t j = 0; j < BM_CWS_DRAWS; j++)
            u[j] = half_lanes(*(const u64_lanes *)(batch->words[j] + i));
        const f64_lanes ln_weight = *(const f64_lanes *)(batch->ln_weight + i);
        const f64_lanes r = -log_of(u[0] * u[1] * 0x1p-64);
        const f64_lanes c = -log_of(u[2] * u[3] * 0x1p-64);
        const f64_lanes beta = u[4] * 0x1p-32;
        const f64_lanes t = floor_lanes(ln_weight / r + beta);
        *(f64_lanes *)(batch->value + i) = log_of(c) - r * ((t - beta) + 1.0);
    }
}

/* u_j or p_j times 2^31, cut. */
static inline f32_lanes share(u32_lanes mixed, uint32_t a, uint32_t b)
{
    return __builtin_convertvector((i32_lanes)((mixed * a + b) >> 1), f32_lanes);
}

static void candidates(const bm_cws_block *block, const bm_scheme_params *params, uint32_t perm,
                       bm_cws_batch *batch)
{
    uint32_t a[4], b[4]; /* of p_2 and p_3 those of the word's complement, ~w = -a e + ~b */
    for (size_t j = 0; j < 4; j++) {
        a[j] = params->a[perm * BM_CWS_DRAWS + j];
        b[j] = params->b[perm * BM_CWS_DRAWS + j];
        a[j] = j < 2 ? a[j] : 0 - a[j];
        b[j] = j < 2 ? b[j] : ~b[j];
    }
    uint32_t *out = batch->pairs + batch->n;
    for (uint32_t i = 0; i < block->n_padded; i += 2 * LANES) {
        f32_lanes shares[4];
#pragma GCC unroll 8
        for (size_t j = 0; j < 4; j++)
            shares[j] = share(*(const u32_lanes *)(block->mixed[j] + i), a[j], b[j]);
        const f32_lanes p2 = shares[2] * 0x1p-31f, p3 = shares[3] * 0x1p-31f;
        const f32_lanes d = p2 + p3 * (1.0f - p2);
        const f32_lanes least = shares[0] * shares[1] * (d + d * d * 0.5f);
        out += append(perm << 16 | i, least, *(const f32_lanes *)(block->limit + i), out);
    }
    batch->n = (size_t)(out - batch->pairs);
}

static inline u64_lanes fmix64_lanes(u64_lanes k)
{
    k ^= k >> 33;
    k *= UINT64_C(0xFF51AFD7ED558CCD);
    k ^= k >> 33;
    k *= UINT64_C(0xC4CEB9FE1A85EC53);
    return k ^ (k >> 33);
}

static inline void store_halves(u64_lanes x, uint32_t *low, uint32_t *high)
{
    for (size_t i = 0; i < LANES; i++) {
        low[i] = (uint32_t)x[i];
        high[i] = (uint32_t)(x[i] >> 32);
    }
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
    alignas(BM_ALIGNMENT) uint32_t unused[LANES];
    for (uint32_t i = 0; i < block->n_padded; i += LANES) {
        u64_lanes x = {0}, w = {0};
        const uint32_t n = i >= block->n ? 0 : block->n - i < LANES ? block->n - i : LANES;
        memcpy(&x, hashes + i, n * sizeof *hashes);
        memcpy(&w, weights + i, n * sizeof *weights);
        store_halves(fmix64_lanes(x), block->mixed[0] + i, block->mixed[1] + i);
        store_halves(fmix64_lanes(x + BM_CWS_GOLDEN), block->mixed[2] + i, block->mixed[3] + i);
        store_halves(fmix64_lanes(x + 2 * BM_CWS_GOLDEN), block->mixed[4] + i, unused);
        *(f64_lanes *)(block->ln_weight + i) = log_of_weights(w);
    }
}

#endif
