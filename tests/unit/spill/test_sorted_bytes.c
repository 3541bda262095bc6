/* SPDX-License-Identifier: Apache-2.0 */
/* test_sorted_bytes.c -- sorted records, compared with qsort, in memory and in files, with keys of
 * any length. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "spill/sorted_runs.h"
#include "spill/spill_saved.h"

#include "tests/world/scratch.h"
#include "tests/world/world_random.h"

typedef struct record {
    size_t len;
    char *bytes;
    uint32_t number;
} record;

static record *make(size_t n, size_t longest, uint64_t seed)
{
    record *records = calloc(n, sizeof *records);
    for (size_t i = 0; i < n; i++) {
        record *r = &records[i];
        r->len = world_random(&seed) % 50 == 0 ? world_random(&seed) % longest
                                               : world_random(&seed) % 14;
        r->bytes = malloc(r->len + 1);
        r->number = (uint32_t)world_random(&seed);
        for (size_t k = 0; k < r->len; k++)
            r->bytes[k] = (char)(k < 9 ? world_random(&seed) % 2 * 255 : world_random(&seed));
    }
    return records;
}

static int by_key(const void *x, const void *y)
{
    const record *a = x, *b = y;
    const size_t p = a->len, q = b->len, n = p < q ? p : q;
    const int order = memcmp(a->bytes, b->bytes, n);
    if (order != 0 || p != q)
        return order != 0 ? order : p < q ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void check(size_t n, size_t longest, const char *dir, bool spills)
{
    record *records = make(n, longest, n + longest);
    bm_sorted_runs *sorter;
    bm_bytes_record got;
    cr_assert_eq(bm_sorted_runs_open_bytes(dir, 1, &sorter, NULL), BM_OK);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(bm_sorted_runs_add_bytes(sorter, (bm_str){records[i].bytes, records[i].len},
                                              records[i].number, NULL),
                     BM_OK);
    qsort(records, n, sizeof *records, by_key);
    cr_assert_eq(bm_sorted_runs_begin(sorter, NULL), BM_OK);
    cr_expect_eq(bm_sorted_runs_spilled(sorter) > 0, spills);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(bm_sorted_runs_next_bytes(sorter, &got, NULL), BM_OK);
        cr_assert_eq(got.number, records[i].number, "record %zu of %zu", i, n);
        cr_assert_eq(got.bytes.len, records[i].len);
        cr_assert_eq(memcmp(got.bytes.data, records[i].bytes, got.bytes.len), 0);
    }
    cr_assert_eq(bm_sorted_runs_next_bytes(sorter, &got, NULL), BM_NOT_FOUND);
    cr_assert_eq(bm_sorted_runs_next_bytes(sorter, &got, NULL), BM_NOT_FOUND);
    bm_sorted_runs_close(sorter);
    for (size_t i = 0; i < n; i++)
        free(records[i].bytes);
    free(records);
}

Test(sorted_bytes, come_in_order_from_memory)
{
    for (size_t n = 0; n < 5; n++)
        check(n, 40, NULL, false);
    check(5000, 300, NULL, false);
    check(5000, 300, "/tmp", false);
}

/* The minimum memory of 2 MiB holds some 40,000 short records. */
Test(sorted_bytes, come_in_order_from_runs)
{
    check(100000, 100, "/tmp", true);
}

Test(sorted_bytes, records_longer_than_a_block_are_sorted_too)
{
    check(3000, 200000, "/tmp", true);
}

/* More runs than one merge takes. */
Test(sorted_bytes, runs_are_merged_when_there_are_many)
{
    check(900000, 60, "/tmp", true);
}

/* --- saved runs --- */

static bm_sorted_runs *open_saved(void)
{
    bm_sorted_runs *sorter;
    cr_assert_eq(bm_sorted_runs_open_bytes("/tmp", 1, &sorter, NULL), BM_OK);
    bm_sorted_runs_in_one_file(sorter);
    return sorter;
}

static void add_records(bm_sorted_runs *sorter, const record *records, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(bm_sorted_runs_add_bytes(sorter, (bm_str){records[i].bytes, records[i].len},
                                              records[i].number, NULL),
                     BM_OK);
}

/* n records are added, and each `save` of them are saved; the sorter is then closed without the
 * last ones, which another one gets. */
static void check_saved(size_t n, size_t save)
{
    const size_t last = n - n % save;
    record *records = make(n, 60, n);
    bm_sorted_runs *sorter = open_saved();
    bm_bytes_record got;
    bm_buf runs = {0};
    SCRATCH s = scratch_open();
    const char *path = scratch_at(&s, "saved");
    bm_spill_saved saved = {.path = path, .kind = BM_SPILL_RUN};
    for (size_t at = 0; at < last; at += save) {
        runs.len = 0;
        add_records(sorter, records + at, save);
        cr_assert_eq(bm_sorted_runs_save_in(sorter, AT_FDCWD, path, &runs, NULL), BM_OK);
        cr_assert_eq(bm_sorted_runs_unsaved_bytes(sorter), 0);
        saved.bytes = bm_spill_bytes(bm_sorted_runs_file(sorter));
        saved.records = bm_spill_records(bm_sorted_runs_file(sorter));
    }
    add_records(sorter, records + last, n - last);
    bm_sorted_runs_close(sorter);

    sorter = open_saved();
    cr_assert_eq(bm_sorted_runs_reopen_in(sorter, AT_FDCWD, &saved, NULL), BM_OK);
    cr_assert_eq(bm_sorted_runs_restore(sorter, (const void *)runs.data,
                                        runs.len / sizeof(bm_saved_run), NULL),
                 BM_OK);
    add_records(sorter, records + last, n - last);
    qsort(records, n, sizeof *records, by_key);
    cr_assert_eq(bm_sorted_runs_begin(sorter, NULL), BM_OK);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(bm_sorted_runs_next_bytes(sorter, &got, NULL), BM_OK, "record %zu of %zu", i,
                     n);
        cr_assert_eq(got.number, records[i].number, "record %zu of %zu", i, n);
    }
    cr_assert_eq(bm_sorted_runs_next_bytes(sorter, &got, NULL), BM_NOT_FOUND);
    bm_sorted_runs_close(sorter);
    bm_buf_reset(&runs);
    for (size_t i = 0; i < n; i++)
        free(records[i].bytes);
    free(records);
}

Test(sorted_bytes, another_sorter_continues_one_that_was_saved)
{
    check_saved(1000, 300);
    check_saved(100000, 30000);
    check_saved(20000, 250); /* more runs than one merge takes */
}

Test(sorted_bytes, runs_beyond_their_file_are_refused)
{
    record *records = make(100, 60, 3);
    bm_sorted_runs *sorter = open_saved();
    bm_buf runs = {0};
    SCRATCH s = scratch_open();
    const char *path = scratch_at(&s, "saved");
    add_records(sorter, records, 100);
    cr_assert_eq(bm_sorted_runs_save_in(sorter, AT_FDCWD, path, &runs, NULL), BM_OK);
    const bm_saved_run good = *(const bm_saved_run *)(const void *)runs.data,
                       bad[] = {{good.place - 1, good.bytes, 0},
                                {good.place + 1, good.bytes, 0},
                                {good.place, good.bytes + 1, 0},
                                {good.place, UINT64_MAX, 0},
                                {UINT64_MAX, good.bytes, 0},
                                {good.place, good.bytes, 64},
                                {good.place, 0, 0}};
    cr_assert_eq(runs.len, sizeof good);
    cr_expect_eq(bm_sorted_runs_restore(sorter, &good, 1, NULL), BM_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_eq(bm_sorted_runs_restore(sorter, &bad[i], 1, NULL), BM_ERR_FORMAT, "%zu", i);
    bm_sorted_runs_close(sorter);
    bm_buf_reset(&runs);
    for (size_t i = 0; i < 100; i++)
        free(records[i].bytes);
    free(records);
}
