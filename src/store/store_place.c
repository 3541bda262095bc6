/* store_place.c -- see store_place.h.
 *
 * Tests: tests/unit/store/test_store_processes.c */
#include "store/store_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

#define LOCK_BYTES ((off_t)64 << 10) /* what LMDB wants for so many readers as store_env.c allows */

static int lock(int fd, int how)
{
    int rc;
    while ((rc = flock(fd, how | LOCK_NB)) != 0 && errno == EINTR)
        ;
    return rc == 0 ? 0 : errno;
}

static bm_status in_use(const bm_store_place *place, bm_error *err)
{
    return bm_fail_at(
        err, BM_ERR_LOCKED, place->path, 0,
        "the index is in use by another process that writes to it, or reads it without "
        "a place in its " BM_STORE_LOCK);
}

static bm_status hold_dir(const bm_store_place *place, bm_error *err)
{
    const int rc = lock(place->dir, LOCK_EX);
    if (rc == EWOULDBLOCK)
        return in_use(place, err);
    return rc == 0 ? BM_OK : bm_fail_errno(err, rc, place->path, "cannot hold the index");
}

static bool is_same(int rc_a, const struct stat *a, int rc_b, const struct stat *b)
{
    return rc_a == 0 && rc_b == 0 && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bm_status bm_store_place_open(const char *path, bool alone, bm_store_place *out, bm_error *err)
{
    struct stat ours, theirs;
    out->path = bm_strdup(path);
    if (out->path == NULL)
        return bm_fail_nomem(err, strlen(path));
    out->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->dir < 0)
        return bm_fail_errno(err, errno, path, "cannot open the index");
    if (alone)
        BM_TRY(hold_dir(out, err));
    const int rc = fstat(out->dir, &ours);
    if (alone && !is_same(rc, &ours, stat(path, &theirs), &theirs)) {
        bm_fail_at(err, BM_ERR_LOCKED, path, 0, "the index is being replaced");
        return BM_NOT_FOUND;
    }
    snprintf(out->name, sizeof out->name, "/proc/self/fd/%d", out->dir);
    if (!is_same(rc, &ours, stat(out->name, &theirs), &theirs))
        out->name[0] = '\0';
    return BM_OK;
}

const char *bm_store_place_name(const bm_store_place *place)
{
    return place->name[0] != '\0' ? place->name : place->path;
}

bm_status bm_store_place_data(bm_store_place *place, bm_error *err)
{
    place->data = openat(place->dir, BM_STORE_DATA, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (place->data < 0 && (errno == ENOENT || errno == ELOOP))
        return bm_fail_at(err, BM_ERR_FORMAT, place->path, 0,
                          "no index of bandmill (it has no " BM_STORE_DATA ")");
    if (place->data < 0)
        return bm_fail_errno(err, errno, place->path, "cannot open its " BM_STORE_DATA);
    struct stat info;
    if (fstat(place->data, &info) != 0)
        return bm_fail_errno(err, errno, place->path, "cannot read its " BM_STORE_DATA);
    if (!S_ISREG(info.st_mode))
        return bm_fail_at(err, BM_ERR_FORMAT, place->path, 0, "its " BM_STORE_DATA " is no file");
    return BM_OK;
}

bm_status bm_store_place_hold(const bm_store_place *place, bool alone, bm_error *err)
{
    struct stat info;
    if (fstat(place->data, &info) != 0)
        return bm_fail_errno(err, errno, place->path, "cannot read its " BM_STORE_DATA);
    if (alone && info.st_nlink > 1)
        return bm_fail_at(err, BM_ERR_FORMAT, place->path, 0,
                          "its " BM_STORE_DATA
                          " has another name too (a hard link), and would change there (write to a "
                          "copy: cp -a makes one, cp -al does not)");
    /* Some file systems of networks have no such locks: then nobody else has one either, and
     * writers hold the directory. */
    if (lock(place->data, alone ? LOCK_EX : LOCK_SH) != EWOULDBLOCK)
        return BM_OK;
    if (alone)
        return in_use(place, err);
    return bm_fail_at(err, BM_ERR_LOCKED, place->path, 0,
                      "the index is being written to, and without a place in its " BM_STORE_LOCK
                      ", which is not there or not this user's, nothing that is read could be "
                      "spared");
}

bm_status bm_store_place_lock(const bm_store_place *place, bool *has_slots, bm_error *err)
{
    struct stat lock_file, data, dir;
    *has_slots = false;
    if (fstatat(place->dir, BM_STORE_LOCK, &lock_file, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT
                   ? BM_OK
                   : bm_fail_errno(err, errno, place->path, "cannot look at its " BM_STORE_LOCK);
    if (!S_ISREG(lock_file.st_mode) || lock_file.st_nlink != 1)
        return bm_fail_at(err, BM_ERR_FORMAT, place->path, 0,
                          "its " BM_STORE_LOCK
                          " is a link or no file, or has another name too (a hard link), where "
                          "writing would change what is not the index (remove it, or copy the "
                          "index: cp -a)");
    if (fstat(place->data, &data) != 0 || fstat(place->dir, &dir) != 0)
        return bm_fail_errno(err, errno, place->path, "cannot look at the index");
    *has_slots = data.st_nlink == 1 && lock_file.st_uid == geteuid() && dir.st_uid == geteuid() &&
                 lock_file.st_size >= (off_t)BM_STORE_READERS * 64 &&
                 faccessat(place->dir, BM_STORE_LOCK, R_OK | W_OK, AT_EACCESS) == 0;
    return BM_OK;
}

bool bm_store_place_same(const bm_store_place *place, int fd)
{
    struct stat ours, theirs;
    return is_same(fstat(place->data, &ours), &ours, fstat(fd, &theirs), &theirs);
}

bool bm_store_place_is_replaced(const bm_store_place *place)
{
    struct stat ours, theirs;
    char *path = NULL;
    if (bm_string_format(&path, NULL, "%s/" BM_STORE_DATA, place->path) != BM_OK)
        return false;
    const int here = fstat(place->data, &ours), there = stat(path, &theirs);
    bm_free(path);
    return here == 0 && there == 0 && !is_same(here, &ours, there, &theirs);
}

bm_status bm_store_place_lock_room(const bm_store_place *place, bm_error *err)
{
    struct stat info;
    bool made = false;
    int fd = openat(place->dir, BM_STORE_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        fd = openat(place->dir, BM_STORE_LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        made = fd >= 0;
    }
    if (fd < 0 && errno != ENOSPC && errno != EDQUOT)
        return BM_OK; /* LMDB says why */
    int code = fd < 0 ? errno : 0;
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        const off_t size = info.st_size > LOCK_BYTES ? info.st_size : LOCK_BYTES;
        if (info.st_blocks < size / 512 && fallocate(fd, 0, 0, size) != 0 &&
            (errno == ENOSPC || errno == EDQUOT)) /* not every file system can tell */
            code = errno;
    }
    if (fd >= 0)
        close(fd);
    if (code != 0 && made)
        unlinkat(place->dir, BM_STORE_LOCK, 0);
    return code == 0 ? BM_OK
                     : bm_fail_errno(err, code, place->path, "no room for its " BM_STORE_LOCK);
}

void bm_store_place_close(bm_store_place *place)
{
    if (place->data >= 0)
        close(place->data);
    if (place->dir >= 0)
        close(place->dir);
    bm_free(place->path);
    *place = (bm_store_place){.dir = -1, .data = -1};
}
