/* SPDX-License-Identifier: Apache-2.0 */
/* world_random.h -- random numbers for tests. Each test has its own state and seeds it, so it draws
 * the same numbers in every run and on every machine. */
#pragma once

#include <stdint.h>

/* SplitMix64 (Vigna): all 64 bits are well mixed. */
static inline uint64_t world_split(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Number i of the sequence of world_split from state 0. */
static inline uint64_t world_split_at(uint64_t i)
{
    uint64_t state = i * UINT64_C(0x9E3779B97F4A7C15);
    return world_split(&state);
}

/* 31 bits of Knuth's linear congruential generator. */
static inline uint64_t world_congruent(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* A number below n, from world_congruent; n > 0. */
static inline uint32_t world_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(world_congruent(state) % n);
}

/* Marsaglia's xorshift; the state must not be 0. */
static inline uint64_t world_shift(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}
