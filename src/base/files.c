/* SPDX-License-Identifier: Apache-2.0 */
/* files.c -- opens files without waiting, and repeats reads and writes until all bytes are
 * transferred.
 *
 * Tests: tests/unit/base/test_open_file.c, tests/unit/base/test_read_file.c,
 *        tests/unit/base/test_wait_readable.c, tests/unit/base/test_whole_io.c */
#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/address.h"
#include "base/error.h"

/* === open file ===
 *
 * A file is opened by stat, open and fstat. O_NONBLOCK is needed in case a FIFO replaces the file
 * between stat and open. It has no effect on a regular file. */

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

bm_status bm_address_name(const char *address, char **out, bm_error *err)
{
    char *name = NULL;
    BM_TRY(bm_copy_text(address, &name, err));
    bm_path_show(address, name, strlen(address) + 1);
    *out = name;
    return BM_OK;
}

bm_status bm_open_regular(const char *path, bm_status other, int *fd, bm_error *err)
{
    return open_file(path, false, other, fd, err);
}

bm_status bm_open_given(const char *path, bm_status other, int *fd, bm_error *err)
{
    return open_file(path, is_given(path), other, fd, err);
}

bm_status bm_look_at(int folder, const char *path, int flags, bool *there, struct stat *info,
                     bm_error *err)
{
    struct stat own;
    *there = fstatat(folder, path, info != NULL ? info : &own, flags) == 0;
    return *there || bm_errno_is_absence(errno) ? BM_OK
                                                : bm_fail_errno(err, errno, path, "cannot look at");
}

const char *bm_name_in(int folder, const char *path)
{
    const char *slash = folder == AT_FDCWD ? NULL : strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* === read file ===
 *
 * Reads a file to its end, or until one byte more than allowed was read. */

#define STEP ((size_t)64 * 1024)

bm_status bm_read_file(const char *path, size_t most, bm_buf *out, bm_error *err)
{
    const size_t before = out->len;
    int fd;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_open_given(path, BM_ERR_INPUT, &fd, err));
    ssize_t n = 1;
    while (n != 0) {
        BM_TRY_OUT(bm_buf_reserve(out, STEP, err));
        n = read(fd, out->data + out->len, STEP);
        if (n > 0) {
            out->len += (size_t)n;
        } else if (n < 0 && errno != EINTR)
            BM_TRY_OUT(bm_fail_errno(err, errno, path, "cannot read"));
        if (out->len - before > most)
            BM_TRY_OUT(bm_fail_at(err, BM_ERR_INPUT, path, 0, "more than %zu bytes", most));
    }
out:
    if (fd >= 0)
        close(fd);
    return status;
}

/* === whole io ===
 *
 * Repeats pwrite and pread until all bytes are transferred. */

#define CALL_MAX ((size_t)1 << 30) /* bytes per system call; some systems refuse more than 2 GiB */

int bm_pwrite_all(int fd, const void *data, size_t len, uint64_t offset)
{
    const char *from = data;
    while (len > 0) {
        const ssize_t n = pwrite(fd, from, len < CALL_MAX ? len : CALL_MAX, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? ENOSPC : errno;
        from += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

int bm_pread_all(int fd, void *data, size_t len, uint64_t offset, size_t *got)
{
    char *to = data;
    *got = 0;
    while (*got < len) {
        const size_t left = len - *got;
        const ssize_t n =
            pread(fd, to + *got, left < CALL_MAX ? left : CALL_MAX, (off_t)(offset + *got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            return 0;
        *got += (size_t)n;
    }
    return 0;
}

/* === wait readable ===
 *
 * Polls for a fifth of a second, calls callbacks->cancelled, and polls again. If a signal is
 * delivered to another thread, it does not interrupt poll, and only the callback can notice it. */

#define WAIT_MS 200

bm_status bm_check_cancelled(const bm_callbacks *callbacks, bm_error *err)
{
    return callbacks != NULL && callbacks->cancelled != NULL && callbacks->cancelled(callbacks->ctx)
               ? bm_fail(err, BM_ERR_CANCELLED, "interrupted")
               : BM_OK;
}

/* Wait until a read of `fd` would not block. It does not block if there is input, or if the read
 * would fail and report the reason. A regular file is always ready. Meanwhile callbacks->cancelled
 * is called five times a second; BM_ERR_CANCELLED if it returns true. If there is no such callback,
 * this returns BM_OK at once, and the read itself waits. */
static bm_status wait_until_readable(const bm_callbacks *callbacks, int fd, bm_error *err)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (callbacks == NULL || callbacks->cancelled == NULL)
        return BM_OK;
    for (;;) {
        int n = poll(&ready, 1, WAIT_MS);
        /* the read will report an error of poll */
        if (n > 0 || (n < 0 && errno != EINTR))
            return BM_OK;
        BM_TRY(bm_check_cancelled(callbacks, err));
    }
}

bm_status bm_read_ready(const bm_callbacks *callbacks, int fd, void *out, size_t cap, ssize_t *got,
                        bm_error *err)
{
    for (;;) {
        BM_TRY(wait_until_readable(callbacks, fd, err));
        *got = read(fd, out, cap);
        if (*got >= 0 || (errno != EINTR && errno != EAGAIN))
            return BM_OK;
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        /* without callbacks->cancelled nothing has waited for `fd` yet */
        if (errno == EAGAIN)
            (void)poll(&ready, 1, WAIT_MS);
    }
}
