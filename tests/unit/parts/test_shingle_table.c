/* SPDX-License-Identifier: Apache-2.0 */
/* test_shingle_table.c -- numbers of shingles, compared with a linear search of a list; the filter
 * passes all hashes of the table, and few others. */
#include <criterion/criterion.h>

#include "base/random.h"
#include "parts/overlap_parts.h"

enum { SHINGLES = 20000, FEW = 300, OTHERS = 100000 };

static uint32_t added(bm_shingle_table *table, uint64_t hash)
{
    uint32_t number = BM_NO_SHINGLE;
    cr_assert_eq(bm_shingle_table_add(table, hash, &number, NULL), BM_OK);
    return number;
}

/* Adds hash(i) for each i, and every hash again; expects numbers in order of first addition. */
static void numbers_are_in_order(uint64_t (*hash)(uint64_t))
{
    bm_shingle_table table = {0};
    for (uint64_t i = 0; i < FEW; i++) {
        cr_assert_eq(added(&table, hash(i)), i);
        cr_assert_eq(added(&table, hash(i / 2)), i / 2);
    }
    cr_assert_eq(bm_shingle_table_end(&table, NULL), BM_OK);
    for (uint64_t i = 0; i < FEW; i++) {
        cr_expect_eq(bm_shingle_table_find(&table, hash(i)), i);
        cr_expect(bm_shingle_table_may_have(&table, hash(i)));
        cr_expect_eq(bm_shingle_table_find(&table, hash(FEW + i)), BM_NO_SHINGLE);
    }
    bm_shingle_table_reset(&table);
}

static uint64_t small(uint64_t i)
{
    return i;
}

static uint64_t of_one_home(uint64_t i)
{
    return UINT64_C(0x7777777700000000) | i;
}

Test(shingle_table, numbers_follow_the_order_of_adding)
{
    numbers_are_in_order(small);
}

Test(shingle_table, shingles_that_all_have_one_home_are_told_apart)
{
    numbers_are_in_order(of_one_home);
}

Test(shingle_table, an_empty_table_can_be_asked)
{
    bm_shingle_table table = {0};
    cr_assert_eq(bm_shingle_table_end(&table, NULL), BM_OK);
    cr_expect_not(bm_shingle_table_may_have(&table, 5));
    cr_expect_eq(bm_shingle_table_find(&table, 5), BM_NO_SHINGLE);
    cr_expect_gt(bm_shingle_table_bytes(&table), 0);
    bm_shingle_table_reset(&table);
}

Test(shingle_table, the_filter_stops_most_of_what_is_not_there)
{
    bm_shingle_table table = {0};
    bm_random random;
    bm_random_init(&random, 1);
    size_t passed = 0;
    for (size_t i = 0; i < SHINGLES; i++)
        added(&table, bm_random_u64(&random));
    cr_assert_eq(bm_shingle_table_end(&table, NULL), BM_OK);
    for (size_t i = 0; i < table.n; i++)
        cr_assert(bm_shingle_table_may_have(&table, table.hashes[i]));
    for (size_t i = 0; i < OTHERS; i++) {
        const uint64_t hash = bm_random_u64(&random);
        passed += bm_shingle_table_may_have(&table, hash);
        cr_assert_eq(bm_shingle_table_find(&table, hash), BM_NO_SHINGLE);
    }
    cr_expect_lt(passed, OTHERS / 12, "%zu of %d passed", passed, OTHERS);
    bm_shingle_table_reset(&table);
}
