/* open_file.c -- stat, open, fstat. O_NONBLOCK is for a FIFO that takes a file's place between the
 * first two; a regular file does not know it. */
#include "base/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static const char *kind_of(mode_t mode)
{
    return S_ISFIFO(mode)   ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISCHR(mode)  ? "a character device"
           : S_ISBLK(mode)  ? "a block device"
                            : "something else";
}

/* Is `text`, up to `end`, a number? */
static bool is_number(const char *text, const char *end)
{
    return end > text && strspn(text, "0123456789") >= (size_t)(end - text);
}

static bool is_given(const char *path)
{
    static const char fd[] = "/dev/fd/", proc[] = "/proc/", own[] = "self";
    const char *end = path + strlen(path);
    if (strcmp(path, "/dev/stdin") == 0)
        return true;
    if (strncmp(path, fd, sizeof fd - 1) == 0)
        return is_number(path + sizeof fd - 1, end);
    if (strncmp(path, proc, sizeof proc - 1) != 0)
        return false;
    const char *process = path + sizeof proc - 1, *slash = strchr(process, '/');
    if (slash == NULL || strncmp(slash, "/fd/", 4) != 0)
        return false;
    const bool is_self =
        (size_t)(slash - process) == sizeof own - 1 && memcmp(process, own, sizeof own - 1) == 0;
    return (is_self || is_number(process, slash)) && is_number(slash + 4, end);
}

static bm_status open_file(const char *path, bool any, bm_status other, int *fd, bm_error *err)
{
    struct stat info;
    bm_status status = BM_OK;
    *fd = -1;
    if (stat(path, &info) != 0)
        return bm_fail_errno(err, errno, path, "cannot open");
    if (S_ISDIR(info.st_mode))
        return bm_fail_errno(err, EISDIR, path, "cannot read");
    if (any || S_ISREG(info.st_mode)) {
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (*fd < 0 || fstat(*fd, &info) != 0)
            BM_TRY_OUT(bm_fail_errno(err, errno, path, "cannot open"));
    }
    if (!any && !S_ISREG(info.st_mode))
        BM_TRY_OUT(bm_fail_at(err, other, path, 0, "is no regular file (it is %s)",
                              kind_of(info.st_mode)));
    if (!S_ISREG(info.st_mode) && fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) & ~O_NONBLOCK) != 0)
        BM_TRY_OUT(bm_fail_errno(err, errno, path, "cannot open"));
out:
    if (status != BM_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

bm_status bm_open_regular(const char *path, bm_status other, int *fd, bm_error *err)
{
    return open_file(path, false, other, fd, err);
}

bm_status bm_open_given(const char *path, bm_status other, int *fd, bm_error *err)
{
    return open_file(path, is_given(path), other, fd, err);
}

const char *bm_name_in(int folder, const char *path)
{
    const char *slash = folder == AT_FDCWD ? NULL : strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}
