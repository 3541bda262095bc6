/* SPDX-License-Identifier: Apache-2.0 */
/* spill_calls.c -- each system call and each allocation of sorted runs and of their file fails once
 * in turn: the sort fails with the right status, or gives all records in order. Interrupted calls,
 * short reads and short writes are not failures. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include "tests/world/scratch.h"
#include "spill/sorted_runs.h"
#include "wrap_calls.h"

#define RECORDS 30000u /* over three runs with the minimum memory */

static bool shorten;

static size_t shorter(size_t n)
{
    return plan.armed && shorten && n > 1 ? n / 2 : n;
}

WRAP(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, shorter(n), at),
     -1, false)
WRAP(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, shorter(n), at), -1,
     false)
WRAP_MEMORY

WRAP_OPEN

/* Sorts the numbers 0 to RECORDS-1, added in descending order; *n_read counts the records read in
 * order. */
static bm_status sort_all(const char *dir, size_t *n_read, bm_error *err)
{
    bm_sorted_runs *runs = NULL;
    bm_run_record record;
    *n_read = 0;
    bm_status status = bm_sorted_runs_open(dir, BM_SORTED_RUNS_LEAST, &runs, err);
    for (uint64_t i = 0; status == BM_OK && i < RECORDS; i++)
        status = bm_sorted_runs_add(runs, RECORDS - 1 - i, i, err);
    if (status == BM_OK)
        status = bm_sorted_runs_begin(runs, err);
    while (status == BM_OK) {
        status = bm_sorted_runs_next(runs, &record, err);
        if (status == BM_OK && record.key == *n_read && record.value == RECORDS - 1 - *n_read)
            ++*n_read;
    }
    bm_sorted_runs_close(runs);
    return status == BM_NOT_FOUND ? BM_OK : status;
}

/* Fails call 0, 1, 2 and so on until a run has no failure; returns the number of failures. */
static long fail_each(bool memory, int code, bm_status wanted)
{
    SCRATCH s = scratch_open();
    long n = 0;
    for (bool failed = true; failed; n++) {
        size_t n_read;
        bm_error err = {0};
        plan_call(n, code, memory);
        bm_status status = sort_all(s.root, &n_read, &err);
        plan.armed = false;
        failed = plan.failed;
        cr_assert_eq(status, failed ? wanted : BM_OK, "call %ld: %s", n, err.message);
        cr_assert(status != BM_OK || n_read == RECORDS, "call %ld", n);
        cr_assert(!failed || wanted == BM_OK || err.message[0] != '\0');
    }
    return n;
}

Test(spill_calls, every_failing_call_is_an_error_and_never_a_result)
{
    cr_assert_gt(fail_each(false, EIO, BM_ERR_IO), 20);
    cr_assert_gt(fail_each(false, ENOSPC, BM_ERR_IO), 20);
}

Test(spill_calls, every_failing_allocation_is_out_of_memory)
{
    cr_assert_gt(fail_each(true, 0, BM_ERR_NOMEM), 10);
}

Test(spill_calls, short_reads_and_writes_are_gone_on_with)
{
    SCRATCH s = scratch_open();
    size_t n_read;
    plan_call(-1, 0, false);
    shorten = true;
    bm_status status = sort_all(s.root, &n_read, NULL);
    shorten = plan.armed = false;
    cr_assert_eq(status, BM_OK);
    cr_assert_eq(n_read, RECORDS);
}

Test(spill_calls, interrupted_reads_and_writes_are_done_again)
{
    SCRATCH s = scratch_open();
    long n = 0;
    for (plan.failed = true; plan.failed; n++) {
        size_t n_read;
        plan_call(n, EINTR, false);
        bm_status status = sort_all(s.root, &n_read, NULL);
        plan.armed = false;
        cr_assert(status == BM_OK && n_read == RECORDS, "call %ld", n);
    }
    cr_assert_gt(n, 20);
}
