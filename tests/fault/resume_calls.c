/* SPDX-License-Identifier: Apache-2.0 */
/* resume_calls.c -- a stopped job's output directory is taken over, continued and committed, while
 * each system call and each allocation fails once in turn. Whatever failed, at whatever point:
 * either all that the journal notes still exists, or nothing that could be mistaken for it; and the
 * next attempt makes the same output. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/npy.h"
#include "tests/world/scratch.h"
#include "wrap_calls.h"
#include "tests/world/world_npy.h"

WRAP(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n), -1, false)
WRAP(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at), -1, false)
WRAP(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, n, at), -1, false)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, false)
WRAP(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode), -1, false)
WRAP(int, rmdir, (const char *path), (path), -1, false)
WRAP(int, unlink, (const char *path), (path), -1, false)
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), -1, false)
WRAP(int, ftruncate, (int fd, off_t size), (fd, size), -1, false)
WRAP(off_t, lseek, (int fd, off_t to, int whence), (fd, to, whence), -1, false)
WRAP(int, fstat, (int fd, struct stat *info), (fd, info), -1, false)
WRAP(int, lstat, (const char *path, struct stat *info), (path, info), -1, false)
WRAP(int, fstatat, (int fd, const char *path, struct stat *info, int flags),
     (fd, path, info, flags), -1, false)
WRAP(DIR *, opendir, (const char *path), (path), NULL, false)
WRAP(DIR *, fdopendir, (int fd), (fd), NULL, false)
WRAP(struct dirent *, readdir, (DIR * folder), (folder), NULL, false)
WRAP(int, renameat2, (int f, const char *a, int g, const char *b, unsigned flags),
     (f, a, g, b, flags), -1, false)
WRAP_MEMORY

static ino_t synced[64];
static unsigned n_synced;

int __wrap_fsync(int fd); /* does nothing: hundreds of runs would wait for the disk */
int __wrap_fsync(int fd)
{
    struct stat info;
    if (fails("fsync", false))
        return -1;
    cr_assert_eq(__real_fstat(fd, &info), 0);
    synced[n_synced++ % 64] = info.st_ino;
    return 0;
}

WRAP_OPEN

WRAP_OPENAT

/* Another job finishes between the opening and the locking of its marker. */
static const char *finishes, *finished;
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
    if (finishes != NULL)
        cr_assert_eq(rename(finishes, finished), 0);
    finishes = NULL;
    return __real_flock(fd, operation);
}

static const uint32_t rows[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};

static bm_status put_text(bm_out_dir *dir, const char *name, const char *text, bm_error *err)
{
    bm_out_file *file = NULL;
    bm_status status = bm_out_dir_file(dir, name, &file, err);
    if (status != BM_OK)
        return status;
    status = bm_out_file_write(file, text, strlen(text), err);
    bm_status closed = bm_out_file_close(file, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}

/* Writes ids.txt "first second" and signatures.npy of four rows, from the start or from the middle.
 */
static bm_status fill(bm_out_dir *dir, bool half, bm_error *err)
{
    static const char *const keep[] = {"ids.txt", "signatures.npy"};
    bm_out_file *ids = NULL;
    bm_npy_writer writer = {0};
    bm_status status = half ? bm_out_dir_clear(dir, keep, 2, err) : BM_OK;
    if (status == BM_OK)
        status = half ? bm_out_dir_file_again(dir, "ids.txt", 5, &ids, err)
                      : bm_out_dir_file(dir, "ids.txt", &ids, err);
    if (status != BM_OK)
        return status;
    status =
        half ? bm_npy_writer_open_again(dir, &(bm_npy_array){"signatures.npy", "<u4", 2}, 2,
                                        &writer, err)
             : bm_npy_writer_open(dir, &(bm_npy_array){"signatures.npy", "<u4", 2}, &writer, err);
    if (status == BM_OK && !half)
        status = bm_out_file_write(ids, "first", 5, err);
    if (status == BM_OK && !half)
        status = bm_npy_writer_rows(&writer, rows, 2, 8, err);
    if (status == BM_OK)
        status = bm_out_file_write(ids, " second", 7, err);
    if (status == BM_OK)
        status = bm_npy_writer_rows(&writer, rows + 2, 2, 8, err);
    if (status == BM_OK)
        status = bm_out_file_flush(ids, err);
    if (status == BM_OK)
        status = bm_npy_writer_flush(&writer, NULL, err);
    if (status != BM_OK) {
        bm_out_file_abort(ids);
        bm_npy_writer_close(&writer, NULL);
        return status;
    }
    status = bm_out_file_close(ids, err);
    bm_status closed = bm_npy_writer_close(&writer, status == BM_OK ? err : NULL);
    status = status == BM_OK ? closed : status;
    return status == BM_OK ? put_text(dir, "kept/a.jsonl", "{}\n", err) : status;
}

static bm_status attempt(const char *target, bool *found, bm_error *err)
{
    bm_out_dir *dir = NULL;
    *found = false;
    bm_status status = bm_out_dir_open_again(target, BM_OUT_REFUSE, &dir, found, err);
    if (status == BM_OK)
        status = fill(dir, *found, err);
    if (status == BM_OK)
        status = bm_out_dir_finish(dir, err);
    if (status == BM_OK)
        status = bm_out_dir_commit(dir, err);
    bm_out_dir_close(dir);
    return status;
}

#define STATES 8 /* state files in addition to the journal */

/* Makes OUT.partial as a killed job leaves it: files with more than was noted, and files not noted
 * at all. */
static void leave(scratch *s, const char *journal)
{
    char array[BM_NPY_HEADER_BYTES + sizeof rows / 2 + 3] = {0};
    world_npy_header("<u4", 0, 2, array);
    memcpy(array + BM_NPY_HEADER_BYTES, rows, sizeof rows / 2);
    char list[400] = "bandmill work directory 1\noutput/ids.txt\noutput/signatures.npy\n"
                     "output/kept/a.jsonl\n";
    scratch_folder(s, "out.partial");
    for (int i = 0; i < STATES; i++) {
        char name[40];
        snprintf(name, sizeof name, "out.partial/.bandmill-%d", i);
        scratch_put_text(s, name, "state");
        snprintf(list + strlen(list), sizeof list - strlen(list), ".bandmill-%d\n", i);
    }
    scratch_put_text(s, "out.partial/.bandmill-work", list);
    scratch_folder(s, "out.partial/output");
    scratch_put_text(s, "out.partial/output/ids.txt", "first sec");
    scratch_put(s, "out.partial/output/signatures.npy", array, sizeof array);
    scratch_folder(s, "out.partial/output/kept");
    scratch_put_text(s, "out.partial/output/kept/a.jsonl", "{");
    if (journal != NULL)
        scratch_put_text(s, journal, "5 2");
}

/* Is there a journal, in a directory that can be resumed with it? Without one, nothing else counts.
 */
static bool has_journal(scratch *s, long n)
{
    if (!scratch_has(s, "out.partial/.bandmill-journal"))
        return false;
    for (int i = 0; i < STATES; i++) {
        char name[40];
        snprintf(name, sizeof name, "out.partial/.bandmill-%d", i);
        cr_assert(scratch_has(s, name), "call %ld %s", n, plan.which);
    }
    cr_assert(scratch_has(s, "out.partial/output/ids.txt"), "call %ld %s", n, plan.which);
    cr_assert(scratch_has(s, "out.partial/output/signatures.npy"), "call %ld %s", n, plan.which);
    return true;
}

static void assert_whole(scratch *s, long n)
{
    char array[BM_NPY_HEADER_BYTES + sizeof rows];
    size_t len;
    world_npy_header("<u4", 4, 2, array);
    memcpy(array + BM_NPY_HEADER_BYTES, rows, sizeof rows);
    cr_assert_eq(scratch_count(s, "."), 1u, "call %ld %s", n, plan.which);
    cr_assert_eq(scratch_count(s, "out"), 3u, "call %ld %s", n, plan.which);
    cr_assert_eq(scratch_count(s, "out/kept"), 1u);
    cr_assert(scratch_holds(s, "out/ids.txt", "first second"), "call %ld %s", n, plan.which);
    cr_assert(scratch_holds(s, "out/kept/a.jsonl", "{}\n"));
    char *bytes = scratch_get(s, "out/signatures.npy", &len);
    cr_assert(len == sizeof array && memcmp(bytes, array, len) == 0, "call %ld %s", n, plan.which);
    free(bytes);
}

/* One attempt in which call n fails, then one without failure. False: the attempt has fewer calls.
 */
static bool run(long n, int code, bool memory, const char *journal)
{
    SCRATCH s = scratch_open();
    bool found;
    bm_error err = {0};
    leave(&s, journal);
    plan_call(n, code, memory);
    bm_status status = attempt(scratch_at(&s, "out"), &found, &err);
    plan.armed = false;
    bool more = plan.failed;
    if (status != BM_OK) {
        cr_assert(more, "%s: %s", err.file, err.message);
        cr_assert_eq(status, memory ? BM_ERR_NOMEM : BM_ERR_IO, "call %ld %s: %s: %s", n,
                     plan.which, err.file, err.message);
        cr_assert_neq(err.message[0], '\0');
    }
    cr_assert(status != BM_OK || found == (journal != NULL), "call %ld %s", n, plan.which);
    if (!scratch_has(&s, "out")) { /* otherwise a step after the rename failed */
        bool journal_left = has_journal(&s, n);
        cr_assert_neq(status, BM_OK, "call %ld %s", n, plan.which);
        cr_assert_eq(attempt(scratch_at(&s, "out"), &found, &err), BM_OK, "call %ld %s: %s: %s", n,
                     plan.which, err.file, err.message);
        cr_assert_eq(found, journal_left);
    } else {
        cr_assert(status == BM_OK || memory || strcmp(plan.which, "open") == 0 ||
                      strcmp(plan.which, "fsync") == 0,
                  "call %ld %s", n, plan.which);
    }
    assert_whole(&s, n);
    return more;
}

static void fail_each(int code, bool memory, const char *journal, long least)
{
    long n = 0;
    while (run(n, code, memory, journal))
        n++;
    cr_expect_gt(n, least, "%ld calls were made to fail", n);
}

Test(resume_calls, each_call_that_fails_leaves_what_the_next_attempt_completes)
{
    fail_each(EIO, false, "out.partial/.bandmill-journal", 60);
}

Test(resume_calls, each_allocation_that_fails_leaves_what_the_next_attempt_completes)
{
    fail_each(0, true, "out.partial/.bandmill-journal", 30);
}

Test(resume_calls, so_it_is_where_the_work_is_begun_anew)
{
    fail_each(EIO, false, NULL, 40);
    fail_each(0, true, NULL, 20);
}

/* Takes the directory over to remove it (`again`), or clears it to start over; call n fails. */
static bool run_removal(bool again, long n, int code, bool memory)
{
    SCRATCH s = scratch_open();
    bm_out_dir *dir = NULL;
    bool found;
    leave(&s, "out.partial/.bandmill-journal");
    const char *target = scratch_at(&s, "out");
    plan_call(n, code, memory);
    bm_status status = again ? bm_out_dir_open_again(target, BM_OUT_REFUSE, &dir, &found, NULL)
                             : bm_out_dir_open(target, BM_OUT_REPLACE, &dir, NULL);
    if (status == BM_OK)
        bm_out_dir_preserve(dir, false);
    bm_out_dir_close(status == BM_OK ? dir : NULL);
    plan.armed = false;
    bool left = has_journal(&s, n), more = plan.failed;
    cr_assert(!left || more, "call %ld", n);
    return more;
}

Test(resume_calls, half_removed_work_has_no_journal)
{
    for (int i = 0; i < 4; i++) {
        long n = 0;
        while (run_removal(i % 2 == 0, n, EIO, i > 1))
            n++;
        cr_expect_gt(n, i > 1 ? 5 : 15, "%ld calls were made to fail", n);
    }
}

Test(resume_calls, a_folder_that_was_there_is_synced_like_a_new_one)
{
    static const char *const keep[] = {"kept/a.jsonl"};
    SCRATCH s = scratch_open();
    bm_out_dir *dir = NULL;
    bm_out_file *file = NULL;
    bool found, there = false;
    struct stat info;
    leave(&s, "out.partial/.bandmill-journal");
    cr_assert_eq(bm_out_dir_open_again(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, &found, NULL),
                 BM_OK);
    cr_assert_eq(bm_out_dir_clear(dir, keep, 1, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_file_again(dir, keep[0], 1, &file, NULL), BM_OK);
    cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    bm_out_dir_close(dir);
    cr_assert_eq(lstat(scratch_at(&s, "out/kept"), &info), 0);
    for (unsigned i = 0; i < n_synced && i < 64; i++)
        there = there || synced[i] == info.st_ino;
    cr_assert(there);
}

Test(resume_calls, a_directory_that_was_moved_before_it_was_locked_is_not_the_one)
{
    SCRATCH s = scratch_open();
    bm_out_dir *dir = NULL;
    bool found = true;
    leave(&s, "out.partial/.bandmill-journal");
    finishes = scratch_at(&s, "out.partial");
    finished = scratch_at(&s, "elsewhere");
    cr_expect_eq(bm_out_dir_open_again(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, &found, NULL),
                 BM_OK);
    cr_expect_null(finishes);
    cr_expect_not(found);
    cr_expect_eq(scratch_count(&s, "elsewhere"), STATES + 3u, "with its journal and marker");
    cr_expect_eq(scratch_count(&s, "elsewhere/output"), 3u);
    cr_expect_eq(scratch_count(&s, "out.partial"), 1u);
    bm_out_dir_close(dir);
    cr_expect_eq(scratch_count(&s, "."), 1u);
}

Test(resume_calls, a_marker_that_was_moved_before_it_was_locked_proves_nothing)
{
    SCRATCH s = scratch_open();
    bm_out_dir *dir = NULL;
    bool found;
    leave(&s, "out.partial/.bandmill-journal");
    finishes = scratch_at(&s, "out.partial/.bandmill-work");
    finished = scratch_at(&s, "elsewhere");
    cr_expect_eq(bm_out_dir_open_again(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, &found, NULL),
                 BM_ERR_USAGE);
    cr_expect_null(dir);
    cr_expect_eq(scratch_count(&s, "."), 2u);
    cr_expect_eq(scratch_count(&s, "out.partial"), STATES + 2u);
}
