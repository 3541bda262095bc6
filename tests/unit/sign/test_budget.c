/* SPDX-License-Identifier: Apache-2.0 */
/* test_budget.c -- shares never exceed the total, and the minimum that the error names is enough.
 */
#include "sign/budget.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const uint64_t MIB = 1 << 20;

Test(budget, shares_leave_room_for_documents)
{
    static const uint64_t totals[] = {32, 64, 100, 128, 512, 2048, 8192, 1u << 20};
    static const uint32_t threads[] = {1, 2, 8};
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
        for (size_t t = 0; t < 3; t++) {
            bm_budget b;
            cr_assert_eq(bm_budget_make(totals[i] * MIB, threads[t], 0, &b, NULL), BM_OK);
            uint64_t fixed = b.fixed + b.arena, batches = b.fixed + b.batches;
            cr_assert_lt(fixed, b.total, "%d MiB, %u threads", (int)totals[i], threads[t]);
            cr_assert_lt(batches, b.total);
            cr_assert_gt(bm_budget_rows(&b), 4 * MIB);
        }
    }
}

Test(budget, the_least_that_is_named_is_enough_and_less_is_not)
{
    for (uint32_t threads = 1; threads <= 256; threads *= 4) {
        for (uint32_t devices = 0; devices < 3; devices++) {
            bm_budget b;
            bm_error err = {0};
            cr_assert_eq(bm_budget_make(1, threads, devices, &b, &err), BM_ERR_NOMEM);
            const char *named = strstr(err.message, "at least ");
            unsigned long long least;
            cr_assert_not_null(named);
            cr_assert_eq(sscanf(named, "at least %lluM", &least), 1);
            cr_assert_eq(bm_budget_make(least * MIB, threads, devices, &b, NULL), BM_OK);
            cr_assert_lt(b.batches + b.fixed, b.total);
            cr_assert_eq(bm_budget_make((least - 1) * MIB, threads, devices, &b, NULL),
                         BM_ERR_NOMEM);
        }
    }
}

Test(budget, batches_in_flight_fit_into_their_share)
{
    for (uint32_t threads = 1; threads <= 64; threads *= 2) {
        bm_budget b;
        uint64_t window = bm_budget_window(threads, 0);
        cr_assert_eq(bm_budget_make(512 * MIB, threads, 0, &b, NULL), BM_OK);
        cr_assert_leq(5 * window * bm_budget_batch_bytes(&b, window), b.batches);
    }
    bm_budget none;
    cr_assert_eq(bm_budget_make(0, 4, 0, &none, NULL), BM_OK);
    cr_assert_eq(bm_budget_batch_bytes(&none, 10), SIZE_MAX, "no limit");
    cr_assert_eq(bm_budget_rows(&none), 0);
}

Test(budget, what_threads_keep_is_a_small_part_of_the_whole)
{
    static const uint64_t totals[] = {16 << 20, 100 << 20, UINT64_C(1) << 34};
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++)
        for (uint32_t threads = 1; threads <= 256; threads *= 4) {
            const uint64_t all = (uint64_t)threads * bm_budget_kept(totals[i], threads);
            cr_expect_leq(all, totals[i] / 32);
        }
    cr_expect_eq(bm_budget_kept(0, 8), bm_budget_kept(UINT64_C(1) << 40, 8));
}
