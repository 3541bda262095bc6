/* out_dir_lock.c -- the work directory TARGET.partial: made, cleared or taken over, and locked.
 *
 * The lock (flock on the marker) lives as long as the process: a directory whose marker can be
 * locked is one that its job has left. It is ours by its marker; without one (the job was killed
 * before it made it, or after it removed it within commit) only if it holds nothing but names of
 * ours. Where a file system has no flock there is no lock, and no harm to our own leavings.
 *
 * A marker that was locked may have been removed meanwhile, by the job that held it before: its
 * directory is renamed or made anew then, so the lock counts only while the marker has its name. */
#include "io/output/out_dir_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

/* Has the file that was opened as `path` that name still? */
static bm_status check_name(int fd, const char *path, bool *named, bm_error *err)
{
    struct stat opened, there = {0};
    if (fstat(fd, &opened) != 0 || (lstat(path, &there) != 0 && errno != ENOENT))
        return bm_fail_errno(err, errno, path, "cannot look at");
    *named = opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
    return BM_OK;
}

/* The marker of `work`, locked; BM_ERR_LOCKED if another process holds it. */
static bm_status lock_marker(const char *work, int flags, int *out, bm_error *err)
{
    char *path = NULL;
    bool free_now = false;
    bm_status status = bm_out_join(work, "/", BM_OUT_MARKER, &path, err);
    if (status != BM_OK)
        return status;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0666);
    if (fd < 0)
        status = bm_fail_errno(err, errno, path, "cannot open");
    else if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        status = check_name(fd, path, &free_now, err);
    if (status == BM_OK && !free_now)
        status = bm_fail_at(err, BM_ERR_LOCKED, work, 0, "another job writes this output now");
    if (status != BM_OK && fd >= 0)
        close(fd);
    *out = status == BM_OK ? fd : -1;
    bm_free(path);
    return status;
}

typedef struct leavings {
    bool there, journal;
    int lock_fd; /* of its marker; -1: it has none */
} leavings;

static bm_status has_journal(const char *work, bool *out, bm_error *err)
{
    struct stat info;
    char *path = NULL;
    bm_status status = bm_out_join(work, "/", BM_OUT_JOURNAL, &path, err);
    if (status != BM_OK)
        return status;
    int code = lstat(path, &info) == 0 ? 0 : errno;
    *out = code == 0 && S_ISREG(info.st_mode);
    if (code != 0 && code != ENOENT) /* who knows what would be cleared */
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
static bm_status find_leavings(const char *work, leavings *out, bm_error *err)
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
        char other[300] = "";
        if (inner.code != ENOENT)
            return bm_fail_errno(err, (int)inner.code, work, "cannot look into");
        status = bm_out_names_ours(work, true, other, sizeof other, err);
        if (status != BM_OK || other[0] != '\0')
            return status != BM_OK ? status : in_the_way(work, err);
    }
    return has_journal(work, &out->journal, err);
}

bm_status bm_out_remove_work(const char *work, bm_error *err)
{
    char *journal = NULL;
    bm_status status = bm_out_join(work, "/", BM_OUT_JOURNAL, &journal, err);
    if (status != BM_OK)
        return status;
    (void)unlink(journal); /* what fails here fails below too, and is told there */
    bm_free(journal);
    return bm_place_remove(work, err);
}

bm_status bm_out_dir_lock(bm_out_dir *dir, bool again, bool *found, bm_error *err)
{
    leavings left = {.lock_fd = -1};
    bm_status status = find_leavings(dir->work, &left, err);
    if (status == BM_OK && again && left.journal) {
        if (left.lock_fd < 0)
            status = lock_marker(dir->work, O_CREAT | O_EXCL, &left.lock_fd, err);
        if (status != BM_OK)
            return status;
        dir->lock_fd = left.lock_fd;
        dir->work_made = dir->preserves = *found = true;
        return BM_OK;
    }
    if (status == BM_OK && left.there)
        status = bm_out_remove_work(dir->work, err);
    if (left.lock_fd >= 0)
        close(left.lock_fd);
    if (status != BM_OK)
        return status;
    if (mkdir(dir->work, 0777) != 0)
        return bm_fail_errno(err, errno, dir->work, "cannot make the directory");
    dir->work_made = true;
    return lock_marker(dir->work, O_CREAT | O_EXCL, &dir->lock_fd, err);
}
