/* SPDX-License-Identifier: Apache-2.0 */
/* test_spill_columns.c -- columns are read back as stored; a record of another length or with
 * changed lengths is refused. */
#include "spill/spill_saved.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define N 4u

/* Columns of 0, 3, 8 and 5 bytes. */
static const char *const some[N] = {"", "abc", "12345678", "12345"};

static void make(bm_spill_columns *record)
{
    cr_assert_eq(bm_spill_columns_begin(record, N, NULL), BM_OK);
    for (size_t i = 0; i < N; i++)
        cr_assert_eq(bm_spill_columns_put(record, i == 0 ? NULL : some[i], strlen(some[i]), NULL),
                     BM_OK);
}

/* Finds the columns of the first `len` bytes, copied to an allocation of exactly that size. */
static bool find(const bm_spill_columns *record, size_t len, bm_str *columns, size_t n)
{
    char *bytes = malloc(len + 1);
    memcpy(bytes, record->buf.data, len);
    const bool found = bm_spill_columns_find(bytes, len, columns, n);
    free(bytes);
    return found;
}

Test(spill_columns, come_back_aligned)
{
    bm_spill_columns record = {0};
    bm_str columns[N];
    for (int again = 0; again < 2; again++) {
        make(&record);
        cr_assert(bm_spill_columns_find(record.buf.data, record.buf.len, columns, N));
        for (size_t i = 0; i < N; i++) {
            cr_expect_eq(columns[i].len, strlen(some[i]));
            cr_expect_eq(memcmp(columns[i].data, some[i], columns[i].len), 0);
            cr_expect_eq((columns[i].data - record.buf.data) % 8, 0);
        }
    }
    bm_buf_reset(&record.buf);
}

Test(spill_columns, that_are_appended_piece_by_piece_are_one_and_the_last_may_be_missing)
{
    bm_spill_columns record = {0};
    bm_str columns[N];
    cr_assert_eq(bm_spill_columns_begin(&record, N, NULL), BM_OK);
    for (int i = 0; i < 9; i++)
        cr_assert_eq(bm_buf_add(&record.buf, "x", 1, NULL), BM_OK);
    cr_assert_eq(bm_spill_columns_end(&record, NULL), BM_OK);
    cr_assert(bm_spill_columns_find(record.buf.data, record.buf.len, columns, N));
    cr_expect_eq(columns[0].len, 9u);
    for (size_t i = 1; i < N; i++)
        cr_expect_eq(columns[i].len, 0u);
    bm_buf_reset(&record.buf);
}

Test(spill_columns, a_record_that_is_shorter_or_has_another_number_of_columns_is_none)
{
    bm_spill_columns record = {0};
    bm_str columns[N + 1];
    make(&record);
    cr_assert(find(&record, record.buf.len, columns, N));
    for (size_t len = 0; len < record.buf.len; len++)
        cr_expect_not(find(&record, len, columns, N), "%zu bytes", len);
    cr_expect_not(find(&record, record.buf.len, columns, N - 1));
    cr_expect_not(find(&record, record.buf.len, columns, N + 1));
    bm_buf_reset(&record.buf);
}

Test(spill_columns, lengths_that_no_record_has_are_refused)
{
    static const uint64_t lengths[] = {9, 100, UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63};
    bm_str columns[N];
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            bm_spill_columns record = {0};
            make(&record);
            memcpy(record.buf.data + i * sizeof lengths[k], &lengths[k], sizeof lengths[k]);
            cr_expect_not(find(&record, record.buf.len, columns, N), "column %zu, %llu", i,
                          (unsigned long long)lengths[k]);
            bm_buf_reset(&record.buf);
        }
    }
}
