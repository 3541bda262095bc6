/* SPDX-License-Identifier: Apache-2.0 */
/* test_hash_table.c -- the number of each key, against a plain array, for random keys and for keys
 * made to collide. The answers must be right, and the steps per key bounded by a constant. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "base/hash_table.h"
#include "base/random.h"
#include "tests/world/sized.h"

/* Keys by number. Until a seed is drawn, their hashes are predictable. */
typedef struct keys {
    uint64_t *list;
    size_t n;
    unsigned shift; /* without a seed, hash = key << shift: the shift drops the upper bits */
    uint64_t bad;   /* the seed for which again_badly returns only 0; 0: none was drawn */
    bm_hash_table table;
} keys;

static uint64_t hash_of(const keys *k, uint64_t key)
{
    return k->table.seed == 0 ? key << k->shift : bm_hash_seeded(key, 0, k->table.seed);
}

static uint64_t again(const void *owner, uint32_t number, uint64_t seed)
{
    return bm_hash_seeded(((const keys *)owner)->list[number], 0, seed);
}

static bool equal(const void *owner, uint32_t number, const void *key)
{
    return ((const keys *)owner)->list[number] == *(const uint64_t *)key;
}

/* The number of a key. A new key is added and gets the next number. */
static uint32_t number_of(keys *k, uint64_t key)
{
    cr_assert_eq(bm_hash_table_reserve(&k->table, again, k, NULL), BM_OK);
    const uint64_t hash = hash_of(k, key);
    const size_t at = bm_hash_table_find(&k->table, hash, equal, k, &key);
    if (bm_hash_table_is_free(&k->table, at)) {
        k->list[k->n] = key;
        bm_hash_table_put(&k->table, at, hash, (uint32_t)k->n++);
    }
    return bm_hash_table_number(&k->table, at);
}

/* Rehashes as `again` does, except that under the first seed drawn every hash is 0. */
static uint64_t again_badly(const void *owner, uint32_t number, uint64_t seed)
{
    keys *k = (keys *)(uintptr_t)owner;
    if (k->bad == 0)
        k->bad = seed;
    return seed == k->bad ? 0 : again(owner, number, seed);
}

/* The steps for n keys, each of which is looked up twice. */
static uint64_t steps_for(size_t n, unsigned shift, uint64_t times, bool draws)
{
    keys k = {.list = malloc(n * sizeof *k.list), .shift = shift};
    cr_assert_not_null(k.list);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(number_of(&k, i * times), i);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(number_of(&k, i * times), i);
    cr_expect_eq(k.table.n, n);
    cr_expect_eq(k.table.seed != 0, draws, "%zu keys, shift %u", n, shift);
    cr_expect_leq(k.table.n * 4, k.table.n_slots * 3);
    cr_expect_eq(k.table.n_slots * sizeof *k.table.slots, bm_hash_table_bytes(n));
    const uint64_t steps = k.table.n_steps;
    bm_hash_table_reset(&k.table);
    free(k.list);
    return steps;
}

Test(hash_table, keys_that_chance_made_take_few_steps_and_no_seed)
{
    const size_t n = sized(300000, 30000);
    const uint64_t steps = steps_for(n, 0, UINT64_C(0x9E3779B97F4A7C15), false);
    cr_expect_leq(steps, 4 * n, "%zu steps", (size_t)steps);
}

/* About one seed in several hundred spreads patterned keys badly and is drawn again, which costs
 * another BM_HASH_STEPS per key. This bound allows for two such draws. */
#define FACTOR(n) ((24 + 2 * BM_HASH_STEPS) * (n) + 4 * BM_HASH_PATIENCE)

/* All hashes are 0, so all keys have the same home slot and the same tag. */
Test(hash_table, keys_that_all_have_one_hash_take_no_more_than_a_factor)
{
    for (size_t n = 1000; n <= sized(320000, 32000); n *= 2) {
        const uint64_t steps = steps_for(n, 63, 2, true);
        cr_expect_leq(steps, FACTOR(n), "%zu steps for %zu keys", (size_t)steps, n);
    }
}

/* A seed under which all keys collide is given up before its steps grow quadratically. */
Test(hash_table, a_bad_seed_takes_no_more_than_a_factor)
{
    const size_t n = sized(50000, 10000);
    keys k = {.list = malloc(n * sizeof *k.list)};
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(number_of(&k, i * UINT64_C(0x9E3779B97F4A7C15)), i);
    k.table.n_steps = 0;
    k.table.patience = -1;
    cr_assert_eq(bm_hash_table_reserve(&k.table, again_badly, &k, NULL), BM_OK);
    cr_expect_neq(k.bad, 0);
    cr_expect_neq(k.table.seed, k.bad);
    cr_expect_leq(k.table.n_steps, FACTOR(n), "%zu steps", (size_t)k.table.n_steps);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(number_of(&k, k.list[i]), i);
    cr_expect_eq(k.n, n);
    bm_hash_table_reset(&k.table);
    free(k.list);
}

/* `together` keys share each hash: clusters range from short ones to one of all keys. */
Test(hash_table, clusters_of_any_length_take_no_more_than_a_factor)
{
    const size_t n = sized(200000, 20000);
    for (size_t together = 2; together <= n; together *= 3) {
        keys k = {.list = malloc(n * sizeof *k.list), .shift = 34};
        for (size_t i = 0; i < n; i++) /* the lower 30 bits, which are the hash, repeat */
            number_of(&k, (uint64_t)(i % together) << 30 |
                              (i / together * UINT64_C(0x9E3779B1) & ((1u << 30) - 1)));
        cr_expect_eq(k.n, n);
        cr_expect_leq(k.table.n_steps, FACTOR(n), "%zu steps, %zu together",
                      (size_t)k.table.n_steps, together);
        bm_hash_table_reset(&k.table);
        free(k.list);
    }
}

/* Clusters at both ends of the table, one of which wraps around. */
Test(hash_table, a_table_grows_where_it_is_with_clusters_at_its_ends)
{
    const size_t n = sized(300000, 60000), end = 60;
    keys k = {.list = malloc(n * sizeof *k.list)};
    cr_assert_not_null(k.list);
    for (int again = 0; again < 2; again++)
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t key = i % 40 == 0 && i / 40 < end   ? ~i
                                 : i % 40 == 1 && i / 40 < end ? i
                                                               : i * UINT64_C(0x9E3779B97F4A7C15);
            cr_assert_eq(number_of(&k, key), i);
        }
    cr_expect_eq(k.n, n);
    cr_expect_eq(k.table.n, n);
    cr_expect_eq(k.table.seed, 0);
    bm_hash_table_reset(&k.table);
    free(k.list);
}

Test(hash_table, a_key_can_get_another_number_and_a_table_can_begin_anew)
{
    keys k = {.list = malloc(5000 * sizeof *k.list), .shift = 63};
    for (uint64_t i = 0; i < 5000; i++)
        cr_assert_eq(number_of(&k, 2 * i), i);
    cr_expect_neq(k.table.seed, 0);
    k.list[17] = 2 * 4000;
    const uint64_t key = 2 * 4000;
    const size_t at = bm_hash_table_find(&k.table, hash_of(&k, key), equal, &k, &key);
    bm_hash_table_renumber(&k.table, at, 17);
    cr_expect_eq(number_of(&k, key), 17);
    cr_assert_eq(bm_hash_table_clear(&k.table, 100, NULL), BM_OK);
    cr_expect_eq(k.table.n_slots * sizeof *k.table.slots, bm_hash_table_bytes(100));
    k.n = 0;
    for (uint64_t i = 0; i < 5000; i++)
        cr_assert_eq(number_of(&k, 10000 - 2 * i), i);
    bm_hash_table_reset(&k.table);
    free(k.list);
}
