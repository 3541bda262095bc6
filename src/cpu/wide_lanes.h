/* SPDX-License-Identifier: Apache-2.0 */
/* wide_lanes.h -- bm_wide_loops (sign_loops_row.h) for vectors of LANES words of 64 bits; it is
 * included by wide_<set>.c, which defines LANES, GROUP (how many vectors of minima a pass has) and
 * how lanes are multiplied and compared.
 *
 * A pass keeps the minima of GROUP vectors in registers. Coefficients that do not fit into
 * registers are read again for each shingle, from the first-level cache.
 *
 * Some sets compare lanes only as signed numbers. For these, affine flips the uppermost bit of each
 * value: TURN is added to b, and once more at the end. Values mod 2^61 - 1 do not have this bit. */
#pragma once

#include <string.h>

#include "cpu/sign_loops_row.h"
#include "kernels/affine32.h"
#include "kernels/affine64.h"

typedef uint64_t u64_lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t i64_lanes __attribute__((vector_size(8 * LANES)));

static inline u64_lanes product(u64_lanes a, u64_lanes h);
/* The same as `product`, for h < 2^32. */
static inline u64_lanes product_narrow(u64_lanes a, u64_lanes h);
/* Return the lesser of each pair of lanes. If the instruction set compares only signed numbers,
 * TURN has already flipped the top bits of affine values. */
static inline u64_lanes lesser(u64_lanes x, u64_lanes y);
/* Return the lane of each pair whose low 32 bits are less. Upper halves are undefined. */
static inline u64_lanes lesser_low(u64_lanes x, u64_lanes y);
/* Return sum, minus the modulus if sum is at least the modulus. */
static inline u64_lanes reduced(u64_lanes sum);

typedef enum wide_kind { AFFINE, PRIME, LOW } wide_kind;

static inline __attribute__((always_inline)) u64_lanes value_of(u64_lanes a, u64_lanes h,
                                                                u64_lanes b, const wide_kind kind)
{
    const u64_lanes v = (kind == LOW ? product_narrow(a, h) : product(a, h)) + b;
    return kind == AFFINE ? v : reduced((v & BM_MERSENNE_61) + (v >> 61));
}

typedef struct wide_pass {
    const uint64_t *a, *b, *block;
    size_t n;
    uint64_t *least;
    bool begun;
} wide_pass;

/* Return a number that no value exceeds, in the order in which lanes are compared. */
static inline u64_lanes no_value(const wide_kind kind)
{
    return ~(u64_lanes){0} >> (kind == PRIME ? 1 : 0);
}

/* `count` and `kind` are constants in each copy, so the arrays become registers. */
static inline __attribute__((always_inline)) void
group_of(const wide_pass *pass, const uint32_t count, const wide_kind kind)
{
    const uint64_t turn = TURN * (kind == AFFINE); /* no flip if TURN is 0 */
    u64_lanes a[GROUP], b[GROUP], m[GROUP];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++) {
        a[i] = *(const u64_lanes *)(pass->a + i * LANES);
        b[i] = *(const u64_lanes *)(pass->b + i * LANES) ^ turn;
        m[i] = pass->begun ? *(const u64_lanes *)(pass->least + i * LANES) : no_value(kind);
        m[i] ^= turn;
    }
    for (size_t s = 0; s < pass->n; s++) {
        const u64_lanes h = pass->block[s] - (u64_lanes){0};
#pragma GCC unroll 8
        for (uint32_t i = 0; i < count; i++) {
            const u64_lanes v = value_of(a[i], h, b[i], kind);
            m[i] = kind == LOW ? lesser_low(m[i], v) : lesser(m[i], v);
        }
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++)
        *(u64_lanes *)(pass->least + i * LANES) = m[i] ^ turn;
}

static inline __attribute__((always_inline)) void all_groups(const bm_scheme_params *params,
                                                             wide_pass pass, const wide_kind kind)
{
    uint64_t *least = pass.least;
    for (uint32_t at = 0; at < params->perms; at += GROUP * LANES) {
        pass.a = params->a64 + at;
        pass.b = params->b64 + at;
        pass.least = least + at;
        if (params->perms - at > (GROUP - 1) * LANES)
            group_of(&pass, GROUP, kind);
        else /* compute the rest, one vector at a time */
            for (uint32_t i = at; i < params->perms; i += LANES) {
                group_of(&pass, 1, kind);
                pass.a += LANES;
                pass.b += LANES;
                pass.least += LANES;
            }
    }
}

static void affine(const bm_scheme_params *params, const uint64_t *block, size_t n, bool begun,
                   uint64_t *least)
{
    all_groups(params, (wide_pass){.block = block, .n = n, .least = least, .begun = begun}, AFFINE);
}

static void prime(const bm_scheme_params *params, const uint64_t *block, size_t n, bool begun,
                  uint64_t *least)
{
    all_groups(params, (wide_pass){.block = block, .n = n, .least = least, .begun = begun}, PRIME);
}

static void low(const bm_scheme_params *params, const uint64_t *block, size_t n, bool begun,
                uint64_t *least)
{
    all_groups(params, (wide_pass){.block = block, .n = n, .least = least, .begun = begun}, LOW);
}

static void fmix64(const uint64_t *hashes, size_t n, uint64_t *block)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        u64_lanes k;
        memcpy(&k, hashes + i, sizeof k);
        k = product(k ^ (k >> 33), UINT64_C(0xFF51AFD7ED558CCD) - (u64_lanes){0});
        k = product(k ^ (k >> 33), UINT64_C(0xC4CEB9FE1A85EC53) - (u64_lanes){0});
        *(u64_lanes *)(block + i) = k ^ (k >> 33);
    }
    for (; i < n; i++)
        block[i] = bm_fmix64(hashes[i]);
}

#define WIDE_LOOPS                                                                                 \
    {                                                                                              \
        .fmix64 = fmix64, .affine = affine, .prime = prime, .low = low                             \
    }
