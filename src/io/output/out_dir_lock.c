/* out_dir_lock.c -- the work directory TARGET.partial is made, cleared or taken over, and locked.
 *
 * The lock (flock on a marker in it) lives as long as the process: a directory whose marker can be
 * locked is one that its job has left. A directory with a marker is ours. One without (its job was
 * killed before it made the marker, or within commit, after it removed it) is ours if it holds
 * nothing but names of ours. Where a file system has no flock, jobs are not kept apart, and the
 * rest goes on as it should.
 *
 * Between opening the marker and locking it, the job that held it may have removed it, and renamed
 * its directory or made it anew. So a lock counts only while the marker still has its name.
 *
 * Tests: tests/unit/io_output/test_out_dir.c, tests/unit/io_output/test_out_dir_resume.c
 * Tests: tests/cli/cases/two_jobs.sh */
#include "io/output/out_dir_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/output/out_state.h"
#include "io/output/out_target.h"
#include "io/output/out_work.h"

/* Does the file that was opened as `path` still have that name? */
static bm_status check_name(int fd, const char *path, bool *named, bm_error *err)
{
    struct stat opened, there = {0};
    if (fstat(fd, &opened) != 0 || (lstat(path, &there) != 0 && errno != ENOENT))
        return bm_fail_errno(err, errno, path, "cannot look at");
    *named = opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
    return BM_OK;
}

/* *out: the marker of `work`, opened with `flags` too and locked; BM_ERR_LOCKED if another process
 * holds it. */
static bm_status lock_marker(const char *work, int flags, int *out, bm_error *err)
{
    char *path = NULL;
    bool locked = false;
    bm_status status = bm_string_format(&path, err, "%s/%s", work, BM_OUT_MARKER);
    if (status != BM_OK)
        return status;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0666);
    if (fd < 0)
        status = bm_fail_errno(err, errno, path, "cannot open");
    else if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        status = check_name(fd, path, &locked, err);
    if (status == BM_OK && !locked)
        status = bm_fail_at(err, BM_ERR_LOCKED, work, 0, "another job writes this output now");
    if (status != BM_OK && fd >= 0)
        close(fd);
    *out = status == BM_OK ? fd : -1;
    bm_free(path);
    return status;
}

/* What an earlier job left. */
typedef struct found {
    bool there;   /* a work directory of ours */
    bool journal; /* and its job can be resumed */
    int lock_fd;  /* of its marker; -1: it has none */
} found;

static bm_status has_journal(const char *work, bool *out, bm_error *err)
{
    struct stat info;
    char *path = NULL;
    bm_status status = bm_string_format(&path, err, "%s/%s", work, BM_OUT_JOURNAL);
    if (status != BM_OK)
        return status;
    int code = lstat(path, &info) == 0 ? 0 : errno;
    *out = code == 0 && S_ISREG(info.st_mode);
    if (code != 0 && code != ENOENT) /* there may be one, and work that must not be cleared */
        status = bm_fail_errno(err, code, path, "cannot look at");
    bm_free(path);
    return status;
}

static bm_status in_the_way(const char *work, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_IO, work, 0,
                      "is in the way and not of bandmill (the job works there; remove it)");
}

/* What lies at `work`: nothing, or what a job of ours left there, or an error. */
static bm_status find_leavings(const char *work, found *out, bm_error *err)
{
    struct stat info;
    if (lstat(work, &info) != 0)
        return errno == ENOENT ? BM_OK : bm_fail_errno(err, errno, work, "cannot look at");
    if (!S_ISDIR(info.st_mode))
        return in_the_way(work, err);
    out->there = true;
    bm_error inner = {0};
    bm_status status = lock_marker(work, 0, &out->lock_fd, &inner);
    if (status == BM_ERR_LOCKED || status == BM_ERR_NOMEM) {
        if (err != NULL)
            *err = inner;
        return status;
    }
    if (status != BM_OK) {
        char other[BM_OUT_NAME_BYTES] = "";
        if (inner.code != ENOENT)
            return bm_fail_errno(err, (int)inner.code, work, "cannot look into");
        status = bm_out_find_foreign(work, other, err);
        if (status != BM_OK || other[0] != '\0')
            return status != BM_OK ? status : in_the_way(work, err);
    }
    return has_journal(work, &out->journal, err);
}

bm_status bm_out_dir_lock(const char *work, bm_out_leavings leavings, bm_out_lock *out,
                          bm_error *err)
{
    found left = {.lock_fd = -1};
    *out = (bm_out_lock){.fd = -1};
    bm_status status = find_leavings(work, &left, err);
    if (status == BM_OK && leavings == BM_OUT_TAKE_OVER && left.journal) {
        if (left.lock_fd < 0)
            status = lock_marker(work, O_CREAT | O_EXCL, &left.lock_fd, err);
        if (status == BM_OK)
            *out = (bm_out_lock){.fd = left.lock_fd, .made = true, .taken_over = true};
        return status;
    }
    if (status == BM_OK && left.there)
        status = bm_out_work_remove(work, err);
    if (left.lock_fd >= 0)
        close(left.lock_fd);
    if (status != BM_OK)
        return status;
    if (mkdir(work, 0777) != 0)
        return bm_fail_errno(err, errno, work, "cannot make the directory");
    out->made = true;
    return lock_marker(work, O_CREAT | O_EXCL, &out->fd, err);
}
