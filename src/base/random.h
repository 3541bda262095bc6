/* SPDX-License-Identifier: Apache-2.0 */
/* random.h -- the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), with the draws of
 * NumPy's RandomState; and SplitMix64 (Vigna).
 *
 * RandomState(seed) with a 32-bit seed is init_genrand(seed). The coefficients of all schemes are
 * drawn with these functions, so the order of the draws is part of the file formats. Not for
 * secrets. A generator belongs to one thread at a time. */
#pragma once

#include <stdint.h>

#define BM_RANDOM_WORDS 624u

typedef struct bm_random {
    uint32_t state[BM_RANDOM_WORDS];
    uint32_t next; /* index in `state` of the next word; beyond the end: no words are left */
} bm_random;

void bm_random_init(bm_random *random, uint32_t seed);
/* The next 32-bit output. */
uint32_t bm_random_u32(bm_random *random);
/* Two outputs; the first one is the high half. */
uint64_t bm_random_u64(bm_random *random);
/* randint(lo, hi) with dtype uint64: lo <= result < hi, where lo < hi. Outputs are masked, and
 * drawn again if they are out of range. As in NumPy, a draw takes one output if the range fits in
 * 32 bits, else two. If hi is lo + 1, nothing is drawn. */
uint64_t bm_random_range(bm_random *random, uint64_t lo, uint64_t hi);

/* The next output of SplitMix64. Before the first call, set `state` to the seed. */
static inline uint64_t bm_splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}
