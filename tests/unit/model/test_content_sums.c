/* SPDX-License-Identifier: Apache-2.0 */
/* test_content_sums.c -- known answers from tests/reference/content_model.py; sums of parts,
 * compared with the sum of the whole; and structured sequences, whose hashes must collide no more
 * often than random ones. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/stream_hash.h"

#include "tests/world/world_random.h"

static bm_hash128 hash_of(const uint64_t *run, size_t n)
{
    bm_content_sums sums = {0};
    bm_content_add(run, n, 0, &sums);
    return bm_content_end(&sums, n);
}

static const struct {
    size_t n;
    bm_hash128 hash;
} known[] = {
    {0, {UINT64_C(0x0000000000000000), UINT64_C(0x0000000000000000)}},
    {1, {UINT64_C(0x42E7AFB46DBF3271), UINT64_C(0x4913548F693D0C02)}},
    {2, {UINT64_C(0xAB2E47781EFFB20C), UINT64_C(0xAC089649D16AC163)}},
    {7, {UINT64_C(0x1BDF570769CEB56A), UINT64_C(0x48F964B2EDC8B05D)}},
    {8, {UINT64_C(0xBF8EEB31355DE664), UINT64_C(0x035BFB82978706B6)}},
    {9, {UINT64_C(0xDE22DCF729E8B891), UINT64_C(0xC4D1B7F290EA3ABB)}},
    {16, {UINT64_C(0x1923A1DF1876F59F), UINT64_C(0xB8D7DB23FC3B4AC7)}},
    {100, {UINT64_C(0xFD23DB406FECE89A), UINT64_C(0xCF56874DA5740AA3)}},
    {127, {UINT64_C(0x18A52120DB9CC3F0), UINT64_C(0x708C741A60E4D396)}},
    {128, {UINT64_C(0x9D0DE336DE6FD285), UINT64_C(0x1F863E5031385ECE)}},
    {129, {UINT64_C(0x6BABF6090B6DA666), UINT64_C(0x6DE723178C1DA02A)}},
    {1000, {UINT64_C(0x459ECB5C4BCE80DC), UINT64_C(0x416194415B8B1E6D)}},
    {5000, {UINT64_C(0x1A574F3D8CFED98C), UINT64_C(0xA1A014E5F35B370F)}},
};

Test(content_hash, has_the_known_answers)
{
    static uint64_t run[5000];
    uint64_t state = 1;
    for (size_t i = 0; i < 5000; i++)
        run[i] = world_random(&state);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const bm_hash128 hash = hash_of(run, known[i].n);
        cr_expect_arr_eq(&hash, &known[i].hash, sizeof hash, "%zu shingles", known[i].n);
    }
}

Test(content_hash, is_the_same_in_parts_of_any_size)
{
    static uint64_t run[3000];
    static bm_content_parts parts;
    uint64_t state = 7;
    for (size_t i = 0; i < 3000; i++)
        run[i] = world_random(&state);
    for (int round = 0; round < 300; round++) {
        const size_t n = world_random(&state) % 3000, most = 1 + world_random(&state) % 700;
        bm_content_parts_begin(&parts);
        for (size_t at = 0, take; at < n; at += take) {
            take = world_random(&state) % (most + 1);
            take = take < n - at ? take : n - at;
            bm_content_parts_add(&parts, bm_content_add, run + at, take);
        }
        const bm_hash128 whole = hash_of(run, n),
                         hash = bm_content_parts_end(&parts, bm_content_add);
        cr_assert_arr_eq(&hash, &whole, sizeof hash, "%zu shingles", n);
    }
}

/* --- collisions --- */

#define MOST 70000u

typedef struct family {
    bm_hash128 hashes[MOST];
    uint32_t folded[MOST];
    size_t n;
} family;

static void add(family *f, const uint64_t *run, size_t n)
{
    cr_assert_lt(f->n, MOST);
    f->hashes[f->n++] = hash_of(run, n);
}

/* The number of sums that equal an earlier one. The hash table is at most a third full. */
static size_t collisions(const family *f)
{
    enum { BITS = 18, SLOTS = 1 << BITS };
    static uint32_t table[SLOTS]; /* 0: empty; else index + 1 */
    size_t found = 0;
    memset(table, 0, sizeof table);
    for (size_t i = 0; i < f->n; i++) {
        const uint32_t number = f->folded[i] + 1;
        uint32_t slot = number * UINT32_C(2654435769) >> (32 - BITS);
        while (table[slot] != 0 && table[slot] != number)
            slot = (slot + 1) % SLOTS;
        found += table[slot] == number;
        table[slot] = number;
    }
    return found;
}

/* Expects every 28 bits of the hash to collide as often as random bits: n^2 / 2^29 times, within
 * six standard deviations (and two). All sequences of the family differ. */
static void expect_chance(family *f, const char *what)
{
    const double mean = (double)f->n * (double)f->n / (double)(1u << 29);
    const double most = mean + 6 * sqrt(mean) + 2;
    for (unsigned at = 0; at <= 100; at += 4) {
        for (size_t i = 0; i < f->n; i++) {
            const bm_hash128 h = f->hashes[i];
            const uint64_t bits =
                at < 64 ? h.lo >> at | (at > 0 ? h.hi << (64 - at) : 0) : h.hi >> (at - 64);
            f->folded[i] = (uint32_t)bits & 0xFFFFFFF;
        }
        const size_t found = collisions(f);
        cr_expect_leq((double)found, most, "%s: %zu collisions in bits %u to %u of %zu hashes",
                      what, found, at, at + 27, f->n);
    }
    f->n = 0;
}

static family hashes_of;

static void swap(uint64_t *a, uint64_t *b)
{
    const uint64_t c = *a;
    *a = *b;
    *b = c;
}

Test(content_hash, of_sequences_of_every_length)
{
    static uint64_t run[20000];
    uint64_t state = 3;
    for (size_t i = 0; i < 20000; i++)
        run[i] = world_random(&state);
    for (size_t n = 0; n < 20000; n += 1 + n / 300)
        add(&hashes_of, run, n);
    expect_chance(&hashes_of, "random");
    for (size_t i = 0; i < 20000; i++)
        run[i] = run[0];
    for (size_t n = 0; n < 20000; n += 1 + n / 300)
        add(&hashes_of, run, n);
    expect_chance(&hashes_of, "one shingle again and again");
    memset(run, 0, sizeof run);
    for (size_t n = 0; n < 20000; n += 1 + n / 300)
        add(&hashes_of, run, n);
    expect_chance(&hashes_of, "zeros");
}

/* A run of `n` shingles, and each variant with two of them swapped. */
static void add_swaps(uint64_t *run, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            swap(&run[i], &run[j]);
            add(&hashes_of, run, n);
            swap(&run[i], &run[j]);
        }
}

Test(content_hash, of_swaps_and_rotations)
{
    uint64_t run[600], state = 5;
    for (size_t i = 0; i < 600; i++)
        run[i] = world_random(&state);
    add_swaps(run, 370);
    expect_chance(&hashes_of, "two swapped");
    for (size_t n = 2; n < 300; n++) {
        for (size_t turn = 0; turn < n; turn++) {
            const uint64_t first = run[0];
            add(&hashes_of, run, n);
            memmove(run, run + 1, (n - 1) * sizeof *run);
            run[n - 1] = first;
        }
    }
    expect_chance(&hashes_of, "rotations");
    /* blocks and ranges that swap places, and one range that moves */
    static uint64_t moved[8 * 128], blocks[8 * 128];
    for (size_t i = 0; i < 8 * 128; i++)
        blocks[i] = world_random(&state);
    for (size_t size = 1; size <= 512; size *= 2)
        for (size_t from = 0; from < 1024; from += size)
            for (size_t to = from + size; to < 1024; to += size) {
                if (size < 32 && (to - from) % (32 * size) != 0)
                    continue;
                memcpy(moved, blocks, sizeof moved);
                memcpy(moved + from, blocks + to, size * sizeof *moved);
                memcpy(moved + to, blocks + from, size * sizeof *moved);
                add(&hashes_of, moved, 1024);
            }
    expect_chance(&hashes_of, "blocks that change places");
}

/* All arrangements of two shingles in 16 positions, `step` apart. */
static void add_arrangements(size_t step, uint64_t x, uint64_t y)
{
    static uint64_t run[16 * 128];
    const size_t n = 15 * step + 1;
    for (size_t i = 0; i < n; i++)
        run[i] = y;
    for (uint32_t mask = 0; mask < 1u << 16; mask++) {
        for (size_t i = 0; i < 16; i++)
            run[i * step] = mask >> i & 1 ? x : y;
        add(&hashes_of, run, n);
    }
}

Test(content_hash, of_arrangements_of_two_shingles, .timeout = 1200)
{
    uint64_t state = 11;
    const uint64_t x = world_random(&state), y = world_random(&state);
    add_arrangements(1, x, y);
    expect_chance(&hashes_of, "neighbours");
    add_arrangements(8, x, y);
    expect_chance(&hashes_of, "places of one block");
    add_arrangements(8, x, x ^ 1u);
    expect_chance(&hashes_of, "places of one block, hashes of one bit's difference");
    add_arrangements(8, 0, UINT64_C(1) << 63);
    expect_chance(&hashes_of, "places of one block, nothing and the highest bit");
    add_arrangements(8, 1, 2);
    expect_chance(&hashes_of, "places of one block, small numbers");
    add_arrangements(128, x, y);
    expect_chance(&hashes_of, "places of sixteen stretches");
}

Test(content_hash, of_patterns_that_repeat)
{
    static uint64_t run[2048];
    uint64_t state = 13;
    const uint64_t x = world_random(&state), y = world_random(&state);
    /* Thue-Morse, its complement, and variants with one range reversed */
    for (size_t n = 16; n <= 2048; n *= 2)
        for (size_t begin = 0; begin < n; begin += 1 + n / 64)
            for (size_t end = begin + 1; end <= n; end += 1 + n / 64) {
                for (size_t i = 0; i < n; i++)
                    run[i] = (__builtin_popcountll(i) + (i >= begin && i < end)) % 2 ? x : y;
                if (begin > 0 || end < n || n > 16)
                    add(&hashes_of, run, n);
            }
    expect_chance(&hashes_of, "Thue-Morse");
    for (size_t period = 1; period <= 160; period++)
        for (size_t n = period; n < 2048; n += 1 + period) {
            for (size_t i = 0; i < n; i++)
                run[i] = i % period == period - 1 ? x : y;
            if (n >= 2 * period && hashes_of.n + 1 < MOST)
                add(&hashes_of, run, n);
        }
    expect_chance(&hashes_of, "periods");
}

Test(content_hash, of_one_shingle_changed)
{
    uint64_t run[300], state = 17;
    for (size_t i = 0; i < 300; i++)
        run[i] = world_random(&state);
    for (size_t i = 0; i < 300; i++)
        for (unsigned bit = 0; bit < 64; bit++) {
            run[i] ^= UINT64_C(1) << bit;
            add(&hashes_of, run, 300);
            run[i] ^= UINT64_C(1) << bit;
        }
    expect_chance(&hashes_of, "one bit turned");
}
