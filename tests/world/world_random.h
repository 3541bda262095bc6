/* SPDX-License-Identifier: Apache-2.0 */
/* world_random.h -- random numbers for tests, the same in every run and on every machine. The
 * generator is SplitMix64 (Steele, Lea, Flood 2014), all of whose 64 bits are well mixed. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* The next number of the sequence whose state this is. Any value begins a sequence. */
static inline uint64_t world_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Number i of the sequence from state 0. */
static inline uint64_t world_random_at(uint64_t i)
{
    uint64_t state = i * UINT64_C(0x9E3779B97F4A7C15);
    return world_random(&state);
}

/* A number below n; n > 0. */
static inline uint32_t world_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(world_random(state) % n);
}

/* The sequence of a test that needs only one: Criterion runs each test in a process of its own, so
 * it begins at 1 in each. */
static uint64_t world_state = 1;

static inline uint64_t world_draw(void)
{
    return world_random(&world_state);
}

static inline uint32_t world_pick(uint32_t n) /* below n */
{
    return world_below(&world_state, n);
}

/* Fills `out` with characters of `letters`, each place of which is as likely as another; with any
 * bytes where `letters` is NULL. */
static inline void world_fill(void *out, size_t len, uint64_t seed, const char *letters)
{
    char *bytes = out;
    size_t n = 0;
    while (letters != NULL && letters[n] != '\0')
        n++;
    for (size_t i = 0; i < len; i++) {
        const uint64_t drawn = world_random(&seed) >> 32;
        bytes[i] = letters == NULL ? (char)drawn : letters[drawn % n];
    }
}

/* The same in new memory, which the caller frees. */
static inline void *world_filled(size_t len, uint64_t seed, const char *letters)
{
    void *out = malloc(len + 1);
    if (out != NULL)
        world_fill(out, len, seed, letters);
    return out;
}
