/* SPDX-License-Identifier: Apache-2.0 */
/* test_sorted_runs.c -- sorted runs, compared with qsort, for data that fits into memory and data
 * that does not. */
#include "spill/sorted_runs.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

static int by_key_then_value(const void *x, const void *y)
{
    const bm_run_record *p = x, *q = y;
    if (p->key != q->key)
        return p->key < q->key ? -1 : 1;
    return p->value < q->value ? -1 : p->value > q->value;
}

/* Values are 0, 1, 2 and so on in order of addition, so a stable sort orders by key, then by value.
 */
static void check_order(const char *dir, size_t n, size_t memory, uint64_t key_mask)
{
    bm_run_record *model = malloc((n + 1) * sizeof *model), got;
    uint64_t state = n ^ key_mask;
    bm_sorted_runs *runs = world_open(bm_sorted_runs, dir, memory);
    for (size_t i = 0; i < n; i++) {
        model[i] = (bm_run_record){world_random(&state) & key_mask, i};
        cr_assert_eq(bm_sorted_runs_add(runs, model[i].key, model[i].value, NULL), BM_OK);
    }
    qsort(model, n, sizeof *model, by_key_then_value);
    for (int pass = 0; pass < 2; pass++) {
        cr_assert_eq(bm_sorted_runs_begin(runs, NULL), BM_OK);
        for (size_t i = 0; i < n; i++) {
            cr_assert_eq(bm_sorted_runs_next(runs, &got, NULL), BM_OK);
            if (got.key != model[i].key || got.value != model[i].value)
                cr_assert_fail("record %zu of %zu", i, n);
        }
        cr_assert_eq(bm_sorted_runs_next(runs, &got, NULL), BM_NOT_FOUND);
    }
    bm_sorted_runs_close(runs);
    free(model);
}

Test(sorted_runs, give_the_stable_order_whatever_the_memory)
{
    SCRATCH s = scratch_open();
    const size_t most = BM_SORTED_RUNS_LEAST / 32; /* records in memory */
    const size_t sizes[] = {0, 1, 2, 1000, most - 1, most, most + 1, 2 * most, 9 * most + 77};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_order(s.root, sizes[i], 0, UINT64_MAX);
        check_order(s.root, sizes[i], 0, 0xFF);
        check_order(s.root, sizes[i], 0, UINT64_C(0xFF00FF0000));
        check_order(s.root, sizes[i], 1 << 20, UINT64_MAX);
    }
}

/* Bytes written to files by sorting n_runs times as many records as memory holds, and as many again
 * with `again` after the first were read. */
static uint64_t written_by(const char *dir, size_t memory, size_t n_runs, bool again)
{
    const size_t per_run = memory / 32;
    bm_run_record got, last = {0};
    uint64_t state = n_runs, n = 0;
    bm_sorted_runs *runs = world_open(bm_sorted_runs, dir, memory);
    for (int round = 0; round <= again; round++) {
        for (size_t i = 0; i < n_runs * per_run; i++, n++)
            cr_assert_eq(bm_sorted_runs_add(runs, world_random(&state) % 1000, n, NULL), BM_OK);
        cr_assert_eq(bm_sorted_runs_begin(runs, NULL), BM_OK);
        for (uint64_t i = 0; i < n; i++, last = got) {
            cr_assert_eq(bm_sorted_runs_next(runs, &got, NULL), BM_OK);
            if (i > 0 && by_key_then_value(&last, &got) >= 0)
                cr_assert_fail("record %zu of %zu", (size_t)i, (size_t)n);
        }
        cr_assert_eq(bm_sorted_runs_next(runs, &got, NULL), BM_NOT_FOUND);
    }
    const uint64_t spilled = bm_sorted_runs_spilled(runs);
    bm_sorted_runs_close(runs);
    return spilled;
}

/* With F runs in a merge, each record of N runs is written once, and again at most as often as N
 * can be divided by F. */
Test(sorted_runs, many_runs_are_written_a_logarithm_of_times)
{
    SCRATCH s = scratch_open();
    const struct {
        size_t memory, fan_in, n_runs;
        bool again;
    } cases[] = {{256 << 10, 2, 1, false},   {256 << 10, 2, 3, false},  {256 << 10, 2, 100, false},
                 {256 << 10, 2, 128, false}, {640 << 10, 3, 80, false}, {640 << 10, 3, 81, false},
                 {640 << 10, 3, 40, true},   {1 << 20, 6, 200, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t n_runs = cases[i].n_runs * (cases[i].again ? 2 : 1);
        uint64_t times = 1;
        for (uint64_t left = n_runs; left >= cases[i].fan_in; left /= cases[i].fan_in)
            times++;
        const uint64_t written =
                           written_by(s.root, cases[i].memory, cases[i].n_runs, cases[i].again),
                       once = n_runs * cases[i].memory / 2, heads = once * times / 1000;
        cr_expect_leq(written, once * times + heads, "%zu: %zu bytes, %zu times of %zu", i,
                      (size_t)written, (size_t)times, (size_t)once);
    }
}

Test(sorted_runs, what_fits_makes_no_file)
{
    bm_run_record got;
    bm_sorted_runs *runs = world_open(bm_sorted_runs, NULL, 0);
    for (uint64_t i = 0; i < BM_SORTED_RUNS_LEAST / 32; i++)
        cr_assert_eq(bm_sorted_runs_add(runs, ~i, i, NULL), BM_OK);
    cr_assert_eq(bm_sorted_runs_add(runs, 0, 0, NULL), BM_ERR_NOMEM, "without a directory");
    cr_assert_eq(bm_sorted_runs_begin(runs, NULL), BM_OK);
    cr_assert_eq(bm_sorted_runs_next(runs, &got, NULL), BM_OK);
    cr_assert_eq(bm_sorted_runs_spilled(runs), 0);
    bm_sorted_runs_close(runs);
}

Test(sorted_runs, a_missing_directory_is_an_error_when_it_is_needed)
{
    bm_status status = BM_OK;
    bm_sorted_runs *runs = world_open(bm_sorted_runs, "/nonexistent", 0);
    for (uint64_t i = 0; status == BM_OK && i < BM_SORTED_RUNS_LEAST; i++)
        status = bm_sorted_runs_add(runs, i, i, NULL);
    cr_assert_eq(status, BM_ERR_IO);
    bm_sorted_runs_close(runs);
}
