/* SPDX-License-Identifier: Apache-2.0 */
/* test_distinct.c -- the set of one document's hashes, compared with a model that compares each
 * value with all before it, over many documents in one set, and on values that collide in one slot.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "text/distinct.h"

#include "tests/world/world_order.h"
#include "tests/world/world_random.h"

#define MOST 40000u

typedef struct hash_list {
    const uint64_t *values;
    size_t n;
} hash_list;

/* Expects the counts of the list to be those of its values in the run. */
static void expect_counts(hash_list run, const bm_distinct_list *list)
{
    uint64_t *sorted = malloc((run.n + 1) * sizeof *sorted);
    memcpy(sorted, run.values, run.n * sizeof *sorted);
    qsort(sorted, run.n, sizeof *sorted, world_ascending);
    for (size_t i = 0; i < list->n; i++) {
        size_t low = 0, high = run.n;
        while (low < high) {
            const size_t middle = (low + high) / 2;
            if (sorted[middle] < list->values[i])
                low = middle + 1;
            else
                high = middle;
        }
        while (high < run.n && sorted[high] == list->values[i])
            high++;
        cr_assert_eq(list->counts[i], high - low, "value %zu of %zu", i, list->n);
    }
    free(sorted);
}

/* Adds the document in `parts` equal parts; expects the values `expected`, in that order. */
static void expect_set(bm_distinct *set, hash_list run, size_t parts, hash_list expected)
{
    const size_t n = run.n;
    uint64_t *values = malloc((n + 1) * sizeof *values);
    uint32_t *counts = malloc((n + 1) * sizeof *counts);
    bm_distinct_list list = {values, 0, NULL};
    bm_error err = {0};
    bm_distinct_begin(set);
    for (size_t part = 0; part < parts; part++) {
        size_t from = n * part / parts, to = n * (part + 1) / parts;
        cr_assert_eq(bm_distinct_add(set, run.values + from, to - from, &list, &err), BM_OK);
    }
    cr_assert_eq(list.n, expected.n, "%zu of %zu values in %zu parts", list.n, expected.n, parts);
    cr_assert_eq(memcmp(values, expected.values, expected.n * sizeof *values), 0, "%zu parts",
                 parts);

    /* again, with counts */
    list = (bm_distinct_list){values, 0, counts};
    bm_distinct_begin(set);
    for (size_t part = 0; part < parts; part++) {
        size_t from = n * part / parts, to = n * (part + 1) / parts;
        cr_assert_eq(bm_distinct_add(set, run.values + from, to - from, &list, &err), BM_OK);
    }
    cr_assert_eq(list.n, expected.n);
    cr_assert_eq(memcmp(values, expected.values, expected.n * sizeof *values), 0);
    expect_counts(run, &list);
    free(counts);
    free(values);
}

static size_t model(const uint64_t *run, size_t n, uint64_t *out)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t known = 0;
        while (known < count && out[known] != run[i])
            known++;
        if (known == count)
            out[count++] = run[i];
    }
    return count;
}

Test(distinct, gives_first_occurrences_in_order)
{
    static uint64_t run[1500], expected[1500];
    bm_distinct set = {0};
    for (int round = 0; round < 400; round++) {
        const size_t n = 1 + world_draw() % 1500;
        const uint64_t range = 1 + world_draw() % (2 * n);
        for (size_t i = 0; i < n; i++) /* 0 is an ordinary value */
            run[i] = world_draw() % range * UINT64_C(0x9E3779B97F4A7C15);
        const size_t parts = 1 + world_draw() % 4;
        expect_set(&set, (hash_list){run, n}, parts,
                   (hash_list){expected, model(run, n, expected)});
    }
    bm_distinct_reset(&set);
}

/* More documents than the small table has generations: no document may see another's values. */
Test(distinct, knows_nothing_of_earlier_documents)
{
    uint64_t run[3], values[3];
    bm_distinct set = {0};
    for (uint64_t doc = 0; doc < 200000; doc++) {
        bm_distinct_list list = {values, 0, NULL};
        run[0] = run[2] = doc % 7;
        run[1] = doc % 5 + 100;
        bm_distinct_begin(&set);
        cr_assert_eq(bm_distinct_add(&set, run, 3, &list, NULL), BM_OK);
        cr_assert_eq(list.n, 2, "document %zu", (size_t)doc);
        cr_assert(values[0] == run[0] && values[1] == run[1]);
    }
    bm_distinct_reset(&set);
}

/* The documents alternate between the small and the large table. */
Test(distinct, holds_documents_of_any_size_one_after_the_other)
{
    static uint64_t run[MOST], expected[MOST];
    static const size_t sizes[] = {10, 4095, 4096, 4097, 3, 20000, 118, MOST, 728};
    bm_distinct set = {0};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const size_t n = sizes[s];
        for (size_t i = 0; i < n; i++)
            expected[i] = run[i] = world_draw();
        for (size_t i = n / 2; i < n; i++) /* the second half repeats the first */
            run[i] = run[i - n / 2];
        qsort(expected, n / 2, sizeof expected[0], world_ascending);
        for (size_t i = 1; i < n / 2; i++)
            cr_assert_neq(expected[i], expected[i - 1]);
        const size_t n_expected = n % 2 == 0 ? n / 2 : n - n / 2 - (n > 1);
        for (size_t parts = 1; parts <= 10; parts += 3)
            expect_set(&set, (hash_list){run, n}, parts, (hash_list){run, n_expected});
    }
    bm_distinct_reset(&set);
}

/* The inverse modulo 2^64. With the table's first factor, i times the inverse falls into one slot
 * for all small i. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (int i = 0; i < 6; i++)
        x *= 2 - odd * x;
    return x;
}

Test(distinct, is_not_slowed_or_misled_by_values_that_meet_in_one_slot)
{
    static uint64_t run[MOST];
    const uint64_t back = inverse(UINT64_C(0x9E3779B97F4A7C15));
    bm_distinct set = {0};
    for (size_t n = 300; n <= MOST; n = n == 300 ? 4096 : n == 4096 ? MOST : MOST + 1) {
        for (size_t i = 0; i < n; i++)
            run[i] = (i + 1) * back;
        expect_set(&set, (hash_list){run, n}, 1, (hash_list){run, n});
        expect_set(&set, (hash_list){run, n}, 5, (hash_list){run, n});
    }
    bm_distinct_reset(&set);
}
