/* SPDX-License-Identifier: Apache-2.0 */
/* spill_saved_calls.c -- each system call and each allocation fails once in turn while a file is
 * saved, opened again and walked: with O_TMPFILE, without it, and where no link can be made. Either
 * the run fails with the right status and leaves a file with which it can be tried again, or all
 * records are there. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include "tests/world/scratch.h"
#include "spill/spill_saved.h"
#include "wrap_calls.h"

#define RECORDS 40u
#define BYTES   9000u /* of each record: several buffers, and more than a window in all */

static struct {
    bool no_tmpfile, no_link, shorten;
    unsigned n_links; /* links that were made */
} host;

static size_t shorter(size_t n)
{
    return host.shorten && n > 1 ? n / 2 : n;
}

WRAP(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, shorter(n), at),
     -1, false)
WRAP(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, shorter(n), at), -1,
     false)
WRAP(int, mkostemp, (char *path, int flags), (path, flags), -1, false)
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), -1, false)
WRAP(int, ftruncate, (int fd, off_t size), (fd, size), -1, false)
WRAP(int, fstat, (int fd, struct stat *info), (fd, info), -1, false)
WRAP_MEMORY

int __real_linkat(int a, const char *from, int b, const char *to, int flags);
int __wrap_linkat(int a, const char *from, int b, const char *to, int flags);
int __wrap_linkat(int a, const char *from, int b, const char *to, int flags)
{
    if (host.no_link) {
        errno = ENOENT; /* as without /proc */
        return -1;
    }
    int answer = fails("linkat", false) ? -1 : __real_linkat(a, from, b, to, flags);
    host.n_links += answer == 0;
    return answer;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    if (host.no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return fails("open", false) ? -1 : __real_open(path, flags, 0600);
}

WRAP_OPENAT

static bm_status add_records(bm_spill_file *file, uint64_t from, uint64_t to, bm_error *err)
{
    static uint64_t data[BYTES / 8];
    bm_status status = BM_OK;
    for (uint64_t i = from; status == BM_OK && i < to; i++) {
        for (size_t j = 0; j < BYTES / 8; j++)
            data[j] = i * 1000003u + j;
        status = bm_spill_add(file, data, sizeof data, NULL, err);
    }
    return status == BM_OK ? bm_spill_flush(file, err) : status;
}

static bm_status count_right(void *ctx, uint64_t place, const void *data, size_t len, bm_error *err)
{
    uint64_t *n = ctx;
    const uint64_t *words = data;
    (void)err;
    cr_assert_eq(place, BM_SPILL_HEADER + *n * (BM_SPILL_RECORD + BYTES));
    cr_assert_eq(len, (size_t)BYTES);
    for (size_t j = 0; j < BYTES / 8; j++)
        cr_assert_eq(words[j], *n * 1000003u + j);
    ++*n;
    return BM_OK;
}

static void assert_holds(const bm_spill_file *file, uint64_t n_records)
{
    uint64_t n = 0;
    bm_error err = {0};
    cr_assert_eq(bm_spill_walk(file, count_right, &n, &err), BM_OK, "%s", err.message);
    cr_assert_eq(n, n_records);
}

/* Writes half of the records to a saved file; if it cannot be saved, it stays usable without a
 * name. */
static bm_status save_half(scratch *s, const char *path, bm_error *err)
{
    bm_spill_file *file = NULL;
    bm_status status = bm_spill_open(s->root, BM_SPILL_SETS, 20000, &file, err);
    if (status != BM_OK)
        return status;
    status = add_records(file, 0, RECORDS / 4, err);
    if (status == BM_OK) {
        status = bm_spill_save_in(file, AT_FDCWD, path, err);
        bool armed = plan.armed;
        plan.armed = false;
        assert_holds(file, RECORDS / 4);
        cr_assert(status == BM_OK || !scratch_has(s, "saved") ||
                  scratch_holds(s, "saved", "of another job"));
        plan.armed = armed;
    }
    if (status == BM_OK)
        status = add_records(file, RECORDS / 4, RECORDS / 2, err);
    bm_spill_close(file);
    return status;
}

/* Appends the other half. */
static bm_status go_on(const char *path, uint64_t *n, bm_error *err)
{
    bm_spill_file *file = NULL;
    uint64_t bytes = BM_SPILL_HEADER + RECORDS / 2 * (BM_SPILL_RECORD + BYTES);
    bm_status status = bm_spill_reopen_in(
        AT_FDCWD, &(bm_spill_saved){path, BM_SPILL_SETS, bytes, RECORDS / 2}, 20000, &file, err);
    if (status == BM_OK)
        status = add_records(file, RECORDS / 2, RECORDS, err);
    if (status == BM_OK)
        status = bm_spill_walk(file, count_right, n, err);
    bm_spill_close(file);
    return status;
}

/* Fails call 0, 1, 2 and so on until a run has no failure; returns the number of failures. */
static long fail_each(int code, bool memory, bm_status wanted)
{
    SCRATCH s = scratch_open();
    const char *path = scratch_at(&s, "saved");
    long n = 0;
    for (bool failed = true; failed; n++) {
        uint64_t n_read = 0;
        bm_error err = {0};
        scratch_put_text(&s, "saved", "of another job");
        plan_call(n, code, memory);
        bm_status status = save_half(&s, path, &err);
        bool is_saved = status == BM_OK;
        if (is_saved)
            status = go_on(path, &n_read, &err);
        plan.armed = false;
        failed = plan.failed;
        bool harmless = !failed || wanted == BM_OK || strcmp(plan.which, "linkat") == 0;
        cr_assert_eq(status, harmless ? BM_OK : wanted, "call %ld %s: %s", n, plan.which,
                     err.message);
        cr_assert(status == BM_OK ? n_read == RECORDS : err.message[0] != '\0', "%ld", n);
        if (is_saved) { /* the second half can be tried again */
            n_read = 0;
            cr_assert_eq(go_on(path, &n_read, &err), BM_OK, "call %ld %s: %s", n, plan.which,
                         err.message);
            cr_assert_eq(n_read, RECORDS);
        }
    }
    return n;
}

static void fail_all(void)
{
    cr_assert_gt(fail_each(EIO, false, BM_ERR_IO), 15);
    cr_assert_gt(fail_each(ENOSPC, false, BM_ERR_IO), 15);
    cr_assert_gt(fail_each(0, true, BM_ERR_NOMEM), 6);
}

Test(spill_saved_calls, every_failing_call_leaves_a_file_to_try_again)
{
    fail_all();
    cr_assert_gt(host.n_links, 0u, "the file system of the tests has O_TMPFILE");
}

Test(spill_saved_calls, so_it_is_where_nothing_can_be_linked)
{
    host.no_link = true;
    fail_all();
}

Test(spill_saved_calls, so_it_is_where_there_are_no_nameless_files)
{
    host.no_tmpfile = true;
    fail_all();
    cr_assert_eq(host.n_links, 0u, "an unlinked file cannot be linked: it was copied");
}

Test(spill_saved_calls, interrupted_and_short_calls_are_gone_on_with)
{
    host.no_link = true;
    cr_assert_gt(fail_each(EINTR, false, BM_OK), 15);
    host.shorten = true;
    cr_assert_gt(fail_each(EINTR, false, BM_OK), 30);
}
