/* SPDX-License-Identifier: Apache-2.0 */
/* random.c -- MT19937, and the draws of NumPy's RandomState.
 *
 * The recurrence and the tempering are as published. The state is renewed 624 words at a time. */
#include "base/random.h"

#include <assert.h>

#define SHIFT_SIZE 397u
#define UPPER_BIT  UINT32_C(0x80000000)
#define LOWER_BITS UINT32_C(0x7FFFFFFF)
#define TWIST      UINT32_C(0x9908B0DF)

void bm_random_init(bm_random *random, uint32_t seed)
{
    random->state[0] = seed;
    for (uint32_t i = 1; i < BM_RANDOM_WORDS; i++) {
        uint32_t last = random->state[i - 1];
        random->state[i] = UINT32_C(1812433253) * (last ^ (last >> 30)) + i;
    }
    random->next = BM_RANDOM_WORDS;
}

static void renew(bm_random *random)
{
    uint32_t *s = random->state;
    for (uint32_t i = 0; i < BM_RANDOM_WORDS; i++) {
        uint32_t y = (s[i] & UPPER_BIT) | (s[(i + 1) % BM_RANDOM_WORDS] & LOWER_BITS);
        uint32_t odd = (y & 1u) != 0 ? TWIST : 0;
        s[i] = s[(i + SHIFT_SIZE) % BM_RANDOM_WORDS] ^ (y >> 1) ^ odd;
    }
    random->next = 0;
}

uint32_t bm_random_u32(bm_random *random)
{
    if (random->next == BM_RANDOM_WORDS)
        renew(random);
    uint32_t y = random->state[random->next++];
    y ^= y >> 11;
    y ^= (y << 7) & UINT32_C(0x9D2C5680);
    y ^= (y << 15) & UINT32_C(0xEFC60000);
    return y ^ (y >> 18);
}

uint64_t bm_random_u64(bm_random *random)
{
    uint64_t high = bm_random_u32(random);
    return high << 32 | bm_random_u32(random);
}

uint64_t bm_random_range(bm_random *random, uint64_t lo, uint64_t hi)
{
    assert(lo < hi);
    uint64_t last = hi - 1 - lo;
    if (last == 0)
        return lo; /* NumPy draws nothing here */
    uint64_t mask = UINT64_MAX >> __builtin_clzll(last);
    uint64_t value;
    do
        value = (last > UINT32_MAX ? bm_random_u64(random) : bm_random_u32(random)) & mask;
    while (value > last);
    return lo + value;
}
