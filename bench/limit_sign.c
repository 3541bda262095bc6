/* SPDX-License-Identifier: Apache-2.0 */
/* limit_sign.c -- hashes to the words of a signature: affine32, 128 permutations in registers.
 *
 * Hashes are premixed 16 (or 8) at a time; each then meets all permutations, or half of them with
 * AVX2, whose coefficients and minima stay in registers. */
#include "limit_sign.h"

#include <string.h>

#include "limit_hashes.h"
#include "limit_vectors.h"

/* --- coefficients --- */

static uint32_t mt_next(uint32_t state[624], uint32_t *at)
{
    if (*at == 624) {
        for (uint32_t i = 0; i < 624; i++) {
            uint32_t y = (state[i] & 0x80000000u) | (state[(i + 1) % 624] & 0x7FFFFFFFu);
            state[i] = state[(i + 397) % 624] ^ (y >> 1) ^ ((y & 1u) != 0 ? 0x9908B0DFu : 0);
        }
        *at = 0;
    }
    uint32_t y = state[(*at)++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680u;
    y ^= (y << 15) & 0xEFC60000u;
    return y ^ (y >> 18);
}

void limit_draw(uint32_t seed, coefficients *out)
{
    uint32_t state[624], at = 624;
    state[0] = seed;
    for (uint32_t i = 1; i < 624; i++)
        state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
    for (uint32_t i = 0; i < PERMS; i++)
        out->a[i] = 2 * (mt_next(state, &at) & 0x7FFFFFFFu) + 1;
    for (uint32_t i = 0; i < PERMS; i++)
        out->b[i] = mt_next(state, &at);
}

/* --- signatures --- */

static inline void premix(uint32_t *h, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) { /* whole registers: the buffer has room for them */
        vec x = v_load(h + i);
        x = v_mul(v_xor(x, v_shr(x, 16)), v_set1(0x85EBCA6Bu));
        x = v_mul(v_xor(x, v_shr(x, 13)), v_set1(0xC2B2AE35u));
        v_store(h + i, v_xor(x, v_shr(x, 16)));
    }
}

/* `h` premixed; `words` holds minima so far. */
static void sign(const coefficients *c, const uint32_t *h, size_t n, uint32_t *words)
{
    for (uint32_t at = 0; at < PERMS; at += GROUP * LANES) {
        vec a[GROUP], b[GROUP], m[GROUP];
#pragma GCC unroll 8
        for (uint32_t i = 0; i < GROUP; i++) {
            a[i] = v_load(c->a + at + i * LANES);
            b[i] = v_load(c->b + at + i * LANES);
            m[i] = v_load(words + at + i * LANES);
        }
        for (size_t s = 0; s < n; s++) {
            vec x = v_set1(h[s]);
#pragma GCC unroll 8
            for (uint32_t i = 0; i < GROUP; i++)
                m[i] = v_min(m[i], v_add(v_mul(a[i], x), b[i]));
        }
#pragma GCC unroll 8
        for (uint32_t i = 0; i < GROUP; i++)
            v_store(words + at + i * LANES, m[i]);
    }
}

void limit_sign(const coefficients *c, const uint64_t *hashes, size_t n, uint32_t *words)
{
    uint32_t h[HASH_BLOCK + LANES];
    for (size_t i = 0; i < n; i++)
        h[i] = (uint32_t)hashes[i];
    memset(h + n, 0, LANES * sizeof *h);
    premix(h, n);
    sign(c, h, n, words);
}

void limit_arithmetic(const coefficients *c, uint32_t *words)
{
    for (uint32_t at = 0; at < PERMS; at += GROUP * LANES) {
        vec a[GROUP], b[GROUP], m[GROUP], x = v_set1(0x12345678u);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < GROUP; i++) {
            a[i] = v_load(c->a + at + i * LANES);
            b[i] = v_load(c->b + at + i * LANES);
            m[i] = v_set1(UINT32_MAX);
        }
        for (uint64_t s = 0; s < ARITH_ROUNDS; s++) {
            __asm__ volatile("" : "+v"(x));
#pragma GCC unroll 8
            for (uint32_t i = 0; i < GROUP; i++)
                m[i] = v_min(m[i], v_add(v_mul(a[i], x), b[i]));
        }
#pragma GCC unroll 8
        for (uint32_t i = 0; i < GROUP; i++)
            v_store(words + at + i * LANES, m[i]);
    }
}
