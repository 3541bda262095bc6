/* SPDX-License-Identifier: Apache-2.0 */
/* test_id_set.c -- numbers of ids, compared with a linear search of a plain list. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "model/ids.h"
#include "tests/world/colliding.h"
#include "tests/world/sized.h"
#include "tests/world/world_random.h"

#define N_DRAWS 6000
#define ID_MAX  4u

typedef struct plain_id {
    char bytes[ID_MAX];
    size_t len;
} plain_id;

static bool same(plain_id a, bm_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.bytes, b.data, a.len) == 0);
}

static uint32_t place_of(const plain_id *list, uint32_t n, bm_str id)
{
    for (uint32_t i = 0; i < n; i++) {
        if (same(list[i], id))
            return i;
    }
    return BM_ID_NONE;
}

/* Up to four bytes of a small alphabet with NUL, so most ids are prefixes of others. */
static plain_id draw(void)
{
    static const char alphabet[] = "\0ab\xff\n0";
    plain_id id = {.len = world_pick(ID_MAX + 1)};
    for (size_t i = 0; i < id.len; i++)
        id.bytes[i] = alphabet[world_pick(6)];
    return id;
}

Test(id_set, numbers_are_those_of_a_list_in_order_of_arrival)
{
    static plain_id list[N_DRAWS];
    uint32_t n = 0, number;
    bm_id_set set = {0};
    for (int i = 0; i < N_DRAWS; i++) {
        const plain_id id = draw();
        const bm_str text = {id.bytes, id.len};
        const uint32_t place = place_of(list, n, text);
        cr_assert_eq(bm_id_set_find(&set, text), place);
        cr_assert_eq(bm_id_set_add(&set, text, &number, NULL), BM_OK);
        cr_assert_eq(number, place == BM_ID_NONE ? n : place);
        if (place == BM_ID_NONE)
            list[n++] = id;
        cr_assert_eq(set.n, n);
    }
    cr_expect_gt(n, 1024u, "the table has grown");
    for (uint32_t i = 0; i < n; i++)
        cr_assert(same(list[i], bm_id_set_id(&set, i)), "%u", i);
    bm_id_set_reset(&set);
}

Test(id_set, ids_are_told_apart_by_where_they_end)
{
    static const bm_str ids[] = {{"", 0},  {"\0", 1},   {"\0\0", 2}, {"ab", 2},
                                 {"a", 1}, {"abc", 3},  {"bc", 2},   {"b", 1},
                                 {"c", 1}, {"\0ab", 3}, {"ab\0", 3}, {"cab", 3}};
    bm_id_set set = {0};
    uint32_t number;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
            cr_assert_eq(bm_id_set_add(&set, ids[i], &number, NULL), BM_OK);
            cr_expect_eq(number, i, "%u is %u", i, number);
        }
    }
    bm_id_set_reset(&set);
}

Test(id_set, an_empty_set_holds_nothing_and_can_be_used_again)
{
    bm_id_set set = {0};
    uint32_t number = 9;
    cr_expect_eq(bm_id_set_find(&set, (bm_str){"a", 1}), BM_ID_NONE);
    bm_id_set_reset(&set);
    cr_assert_eq(bm_id_set_add(&set, (bm_str){"a", 1}, &number, NULL), BM_OK);
    cr_expect_eq(number, 0);
    bm_id_set_reset(&set);
    cr_expect_eq(bm_id_set_find(&set, (bm_str){"a", 1}), BM_ID_NONE);
    cr_assert_eq(bm_id_set_add(&set, (bm_str){"b", 1}, &number, NULL), BM_OK);
    cr_expect_eq(number, 0);
    bm_id_set_reset(&set);
}

/* Numbers n ids, adding every second one twice; returns the steps that the table took. */
static uint64_t steps_for(size_t n, void (*make)(uint64_t i, char out[32]), size_t len)
{
    bm_id_set set = {0};
    uint32_t number;
    char id[32];
    for (uint64_t i = 0; i < n; i++) {
        make(i, id);
        cr_assert_eq(bm_id_set_add(&set, (bm_str){id, len}, &number, NULL), BM_OK);
        cr_assert_eq(number, i);
        make(i / 2, id);
        cr_assert_eq(bm_id_set_find(&set, (bm_str){id, len}), i / 2);
    }
    const uint64_t steps = set.table.n_steps;
    bm_id_set_reset(&set);
    return steps;
}

/* XXH3 is public: an input may consist of ids that all have one hash. */
Test(id_set, ids_of_one_hash_take_no_more_than_a_factor)
{
    char first[32], last[32];
    colliding_id_in_all_bits(0, first);
    colliding_id_in_all_bits(12345678, last);
    cr_assert_eq(XXH3_64bits(first, 32), XXH3_64bits(last, 32));
    for (size_t n = 10000; n <= sized(320000, 20000); n *= 2) {
        const uint64_t steps = steps_for(n, colliding_id_in_all_bits, 32);
        cr_expect_leq(steps, 24 * n, "%zu steps for %zu ids", (size_t)steps, n);
    }
}
