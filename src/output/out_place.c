/* out_place.c -- renames that replace nothing, and exchanges.
 *
 * renameat2 does either rename in one step. Where the file system lacks it, a file is linked under
 * its new name and unlinked under the old one; and an exchange is three renames, the
 * first of which is undone if the second fails. So the old output is complete at all times, under
 * one of two names.
 *
 * Tests: tests/unit/output/test_out_dir.c, tests/fault/full_disk_calls.c */
#include "output/out_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

bm_status bm_place_parent(const char *path, char **out, bm_error *err)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        *out = bm_strdup(".");
    else
        *out = bm_strndup(path, slash == path ? 1 : (size_t)(slash - path));
    return *out != NULL ? BM_OK : bm_fail_nomem(err, strlen(path) + 1);
}

bm_status bm_place_sync_folder(const char *path, bm_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return bm_fail_errno(err, errno, path, "cannot open the directory");
    bm_status status = BM_OK;
    if (fsync(fd) != 0 && errno != EINVAL) /* EINVAL: this file system syncs no directories */
        status = bm_fail_errno(err, errno, path, "cannot sync the directory");
    close(fd);
    return status;
}

bm_status bm_place_look(const char *path, bool *there, bm_error *err)
{
    struct stat info;
    *there = lstat(path, &info) == 0;
    return *there || errno == ENOENT ? BM_OK
                                     : bm_fail_errno(err, errno, path, "cannot look at the output");
}

static bool lacks_renameat2(int code)
{
    return code == EINVAL || code == ENOSYS || code == ENOTSUP;
}

/* 0, or -1 and errno, as rename, which replaces an empty directory; EEXIST where anything else is at
 * `to`. */
static int rename_dir_slowly(int folder, const char *name, const char *to)
{
    struct stat there;
    if (lstat(to, &there) == 0 && !S_ISDIR(there.st_mode)) {
        errno = EEXIST;
        return -1;
    }
    return renameat(folder, name, AT_FDCWD, to);
}

static int rename_file_slowly(const char *from, const char *to)
{
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    if (errno != EPERM && errno != ENOTSUP)
        return -1;
    struct stat there; /* a file system without links */
    if (lstat(to, &there) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

/* `code`: that of the rename. */
static bm_status placed(int code, const char *to, bm_error *err)
{
    if (code == 0)
        return BM_OK;
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
        return bm_fail_at(err, BM_ERR_USAGE, to, 0, "the output appeared while the job ran");
    return bm_fail_errno(err, errno, to, "cannot rename the new output into place");
}

bm_status bm_place_file(const char *from, const char *to, bm_error *err)
{
    int code = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
    if (code != 0 && lacks_renameat2(errno))
        code = rename_file_slowly(from, to);
    return placed(code, to, err);
}

bm_status bm_place_dir(int folder, const char *name, const char *to, bm_error *err)
{
    int code = renameat2(folder, name, AT_FDCWD, to, RENAME_NOREPLACE);
    if (code != 0 && (lacks_renameat2(errno) || errno == EEXIST))
        code = rename_dir_slowly(folder, name, to);
    return placed(code, to, err);
}

static bm_status exchange_slowly(int folder, const char *name, const char *to, bm_error *err)
{
    char *aside = NULL;
    BM_TRY(bm_string_format(&aside, err, "%s.replaced.%ld", to, (long)getpid()));
    bm_status status = BM_OK;
    if (rename(to, aside) != 0) {
        status = bm_fail_errno(err, errno, to, "cannot move the old output aside");
    } else if (renameat(folder, name, AT_FDCWD, to) != 0) {
        status = bm_fail_errno(err, errno, to, "cannot rename the new output into place");
        (void)rename(aside, to); /* where this fails too, the old output is left there */
    } else if (renameat(AT_FDCWD, aside, folder, name) != 0) {
        status = bm_fail_errno(err, errno, aside, "the replaced output could not be removed");
    }
    bm_free(aside);
    return status;
}

bm_status bm_place_exchange(int folder, const char *name, const char *to, bm_error *err)
{
    if (renameat2(folder, name, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
        return BM_OK;
    if (lacks_renameat2(errno))
        return exchange_slowly(folder, name, to, err);
    return bm_fail_errno(err, errno, to, "cannot exchange the old output for the new one");
}
