/* SPDX-License-Identifier: Apache-2.0 */
/* full_disk_calls.c -- each system call and each allocation of a job's output fails once in turn.
 *
 * The linker redirects the calls of the objects under test to __wrap_*. The N-th of them returns an
 * error (wrap_calls.h); the others are real. N grows until a run has no failure. After each run,
 * either the job failed, the earlier output is untouched and no other file of ours is left; or it
 * succeeded and the new output is complete. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include "json/json_write.h"
#include "results/npy.h"
#include "output/out_dir.h"
#include "tests/world/scratch.h"
#include "tests/world/sized.h"
#include "wrap_calls.h"

static int n_files;               /* in addition to the four that each output has */
static const char *place = "out"; /* of the output, in the scratch folder */

WRAP(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n), -1, false)
WRAP(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at), -1, false)
WRAP(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, n, at), -1, false)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, false)
WRAP(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode), -1, false)
WRAP(int, rename, (const char *a, const char *b), (a, b), -1, false)
WRAP(int, renameat, (int f, const char *a, int g, const char *b), (f, a, g, b), -1, false)
WRAP(int, renameat2, (int f, const char *a, int g, const char *b, unsigned flags),
     (f, a, g, b, flags), -1, false)
WRAP_MEMORY

WRAP_SYNC(fsync)

WRAP_SYNC(syncfs)

WRAP_OPEN

WRAP_OPENAT

/* close frees the descriptor whatever it returns. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    bool fail = fails("close", false);
    int code = errno, answer = __real_close(fd);
    errno = fail ? code : errno;
    return fail ? -1 : answer;
}

#define REPORT                                                                                     \
    "{\"schema\":1,\"tool\":\"bandmill\",\"kind\":\"dedup\",\"version\":\"0\",\"outputs\":%s}"

static bm_status add_text(bm_out_dir *dir, const char *name, const char *text, int compression,
                          bm_error *err)
{
    bm_out_file *file = NULL;
    bm_status status = bm_out_dir_file(dir, name, &file, err);
    if (status != BM_OK)
        return status;
    status = bm_out_file_compress(file, compression, (bm_pack_lanes){.threads = 2}, err);
    if (status == BM_OK)
        status = bm_out_file_write(file, text, strlen(text), err);
    bm_status closed = bm_out_file_close(file, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}

static bm_status fill(bm_out_dir *dir, const char *text, bm_error *err)
{
    const uint32_t rows[4] = {1, 2, 3, 4};
    const char *digests;
    bm_npy_writer writer = {0};
    bm_status status =
        bm_npy_writer_open(dir, &(bm_npy_array){"signatures.npy", "<u4", 2}, &writer, err);
    if (status == BM_OK)
        status = bm_npy_writer_rows(&writer, rows, 2, 8, err);
    bm_status closed = bm_npy_writer_close(&writer, status == BM_OK ? err : NULL);
    status = status == BM_OK ? closed : status;
    if (status == BM_OK)
        status = add_text(dir, "ids.txt", text, 0, err);
    if (status == BM_OK)
        status = add_text(dir, "kept/x/y.jsonl.gz", text, 1, err);
    if (status == BM_OK)
        status = add_text(dir, "kept/z.jsonl.zst", text, 2, err);
    for (int i = 0; i < n_files && status == BM_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "kept/%d.txt", i);
        status = add_text(dir, name, text, 0, err);
    }
    if (status == BM_OK)
        status = bm_out_dir_finish(dir, err);
    if (status == BM_OK)
        status = bm_out_dir_digests(dir, &digests, err);
    if (status != BM_OK)
        return status;
    bm_buf report = {0};
    status = bm_buf_add_format(&report, err, REPORT, digests);
    if (status == BM_OK)
        status = bm_buf_end(&report, err);
    if (status == BM_OK)
        status = add_text(dir, "report.json", report.data, 0, err);
    bm_buf_reset(&report);
    return status;
}

static bm_status job(const char *target, bool force, const char *text, bm_error *err)
{
    bm_out_dir *dir = NULL;
    bm_status status = bm_out_dir_check(target, bm_out_existing_of(force), NULL, 0, err);
    if (status == BM_OK)
        status = bm_out_dir_open(target, bm_out_existing_of(force), &dir, err);
    if (status == BM_OK)
        status = fill(dir, text, err);
    if (status == BM_OK)
        status = bm_out_dir_commit(dir, err);
    bm_out_dir_close(dir);
    return status;
}

/* The path of `name` in the output ("": the output itself), relative to the scratch folder. */
static const char *in_output(const char *name)
{
    static char path[100];
    snprintf(path, sizeof path, "%s%s%s", place, name[0] != '\0' ? "/" : "", name);
    return path;
}

static int remove_below(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info, (void)type;
    return at->level > 0 ? remove(path) : 0;
}

/* One run in which call number n fails. False: the run has fewer calls. */
static bool run(scratch *s, long n, int code, bool memory, bool force)
{
    bm_error err = {0};
    if (force)
        cr_assert_eq(job(scratch_at(s, place), false, "old", &err), BM_OK, "%s", err.message);
    plan_call(n, code, memory);
    bm_status status = job(scratch_at(s, place), force, "new", &err);
    plan.armed = false;
    const char *now = !scratch_has(s, place) ? NULL : "new";
    if (force && scratch_holds(s, in_output("ids.txt"), "old"))
        now = "old";
    if (status == BM_OK) { /* no call failed, or one whose failure does no harm */
        cr_assert(now != NULL && strcmp(now, "new") == 0, "%ld %s", n, plan.which);
    } else {
        cr_assert(plan.failed, "%s: %s", err.file, err.message);
        cr_assert_eq(status, memory ? BM_ERR_NOMEM : BM_ERR_IO, "%ld %s: %s: %s", n, plan.which,
                     err.file, err.message);
        cr_assert_neq(err.message[0], '\0');
    }
    if (now != NULL) {
        cr_assert(scratch_holds(s, in_output("ids.txt"), now), "%ld %s", n, plan.which);
        cr_assert_eq(scratch_count(s, place), 4u, "whole, old or new");
        cr_assert_eq(scratch_count(s, in_output("kept")), (size_t)n_files + 2);
    }
    if (status != BM_OK && now != NULL && strcmp(now, "new") == 0)
        cr_assert(strcmp(plan.which, "fsync") == 0 || strcmp(plan.which, "open") == 0 || memory,
                  "only what follows the rename may fail with the new output in place: %s",
                  plan.which);
    else if (status != BM_OK)
        cr_assert_eq(scratch_count(s, "."), force ? 1u : 0u, "%ld %s leaves something", n,
                     plan.which);
    cr_assert_eq(nftw(s->root, remove_below, 16, FTW_DEPTH | FTW_PHYS), 0);
    return plan.failed;
}

/* Every `step`-th call fails in turn; in the small size, one in three of these. */
static void fail_each(int code, bool memory, bool force, long step)
{
    SCRATCH s = scratch_open();
    long n = 0;
    while (run(&s, n, code, memory, force))
        n += step * (long)sized(1, 3);
    cr_expect_gt(n, 40, "%ld calls were made to fail", n);
}

Test(full_disk_calls, each_call_that_finds_the_disk_full_leaves_nothing)
{
    fail_each(ENOSPC, false, false, 1);
}

Test(full_disk_calls, nor_the_folders_that_were_made_above_it)
{
    place = "new/deep/out";
    fail_each(ENOSPC, false, false, 1);
    fail_each(0, true, false, 1);
}

Test(full_disk_calls, each_call_that_finds_the_disk_broken_leaves_the_earlier_output)
{
    fail_each(EIO, false, true, 1);
}

Test(full_disk_calls, each_allocation_that_fails_leaves_nothing)
{
    fail_each(0, true, false, 1);
}

Test(full_disk_calls, each_allocation_that_fails_leaves_the_earlier_output)
{
    fail_each(0, true, true, 1);
}

Test(full_disk_calls, so_it_is_with_more_files_than_are_held_open)
{
    n_files = 70;
    fail_each(EIO, false, true, 11);
}
