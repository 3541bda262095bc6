/* SPDX-License-Identifier: Apache-2.0 */
/* test_hashes_sort.c -- the radix sort, compared with qsort, on inputs that are hard for radix
 * sorts. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "lsh/verify.h"
#include "tests/world/sized.h"
#include "tests/world/world_order.h"
#include "tests/world/world_random.h"

static uint64_t make(int shape, size_t i)
{
    uint64_t x = world_draw();
    switch (shape) {
    case 0:
        return x;
    case 1:
        return x & 0xFFFFFFFF; /* 32-bit hashes */
    case 2:
        return x << 40; /* low bits all zero */
    case 3:
        return i; /* sorted small integers */
    case 4:
        return ~(uint64_t)i; /* descending, with a common prefix */
    case 5:
        return 0xABCDEF; /* all equal */
    case 6:
        return x % 3; /* many repeats */
    case 7:
        return (uint64_t)1 << x % 64; /* one bit set in each: skewed at every level */
    case 8:
        return x >> x % 64; /* every magnitude */
    default:
        return i % 2 == 0 ? x : 7; /* half of the values are equal */
    }
}

static void check(int shape, size_t n)
{
    uint64_t *got = malloc((n + 1) * 8), *wanted = malloc((n + 1) * 8), *made = malloc((n + 1) * 8),
             *scratch = malloc(n * 8 + 1);
    for (size_t i = 0; i < n; i++)
        got[i] = wanted[i] = made[i] = make(shape, i);
    got[n] = 0xFEEDFACE;
    bm_hashes_sort(got, n, scratch);
    qsort(wanted, n, 8, world_ascending);
    cr_assert(memcmp(got, wanted, n * 8) == 0, "shape %d, n %zu", shape, n);
    cr_assert_eq(got[n], 0xFEEDFACE);
    const size_t caps[] = {16, 100, n / 2 + 16};
    for (size_t c = 0; c < sizeof caps / sizeof caps[0]; c++) {
        if (caps[c] >= n)
            continue;
        memcpy(got, made, n * 8);
        /* the exact size, so that sanitizers catch any access past the scratch */
        bm_sorter sorter = {.most = caps[c]};
        cr_assert_eq(bm_sorter_sort(&sorter, got, n, NULL), BM_OK);
        cr_assert_leq(sorter.cap, caps[c]);
        bm_sorter_reset(&sorter);
        cr_assert(memcmp(got, wanted, n * 8) == 0, "shape %d, n %zu, within %zu", shape, n,
                  caps[c]);
        cr_assert_eq(got[n], 0xFEEDFACE);
    }
    free(got);
    free(made);
    free(wanted);
    free(scratch);
}

Test(hashes_sort, equals_qsort_for_every_size_up_to_600_and_every_shape)
{
    for (int shape = 0; shape < 10; shape++)
        for (size_t n = 0; n <= 600; n++)
            check(shape, n);
}

Test(hashes_sort, equals_qsort_for_large_sizes_and_every_shape)
{
    static const size_t sizes[] = {4097, 65536, 131071, 131072, 400003};
    for (int shape = 0; shape < 10; shape++)
        for (size_t i = 0; i < sized(5, 4); i++)
            check(shape, sizes[i]);
}

Test(hashes_sort, a_sorter_serves_sets_of_any_lengths_one_after_another)
{
    bm_sorter sorter = {.most = 1000};
    uint64_t got[5000], wanted[5000];
    for (int round = 0; round < 300; round++) {
        const size_t n = round % 7 == 0 ? world_draw() % 5000 : world_draw() % 200;
        for (size_t i = 0; i < n; i++)
            got[i] = wanted[i] = make(round % 10, i);
        cr_assert_eq(bm_sorter_sort(&sorter, got, n, NULL), BM_OK);
        cr_assert_leq(sorter.cap, 1000);
        qsort(wanted, n, 8, world_ascending);
        cr_assert(memcmp(got, wanted, n * 8) == 0, "round %d, n %zu", round, n);
    }
    bm_sorter_reset(&sorter);
    cr_assert_null(sorter.scratch);
}

Test(hashes_sort, distinct_drops_repeats_and_keeps_order)
{
    for (int round = 0; round < 500; round++) {
        uint64_t v[64], wanted[64];
        size_t n = world_draw() % 64, n_wanted = 0;
        for (size_t i = 0; i < n; i++)
            v[i] = world_draw() % 20;
        qsort(v, n, 8, world_ascending);
        for (size_t i = 0; i < n; i++)
            if (i == 0 || v[i] != v[i - 1])
                wanted[n_wanted++] = v[i];
        cr_assert_eq(bm_hashes_distinct(v, n), n_wanted);
        cr_assert(memcmp(v, wanted, n_wanted * 8) == 0);
    }
}
