/* SPDX-License-Identifier: Apache-2.0 */
/* power_shim.c -- for tests: records in order what a process does to files. Loaded before the C
 * library (LD_PRELOAD). From the record, scale/power.py makes the states in which a loss of power
 * may leave the disk.
 *
 *     POWER_SHIM_LOG=FILE   where to write the record; without it, nothing is recorded
 *
 * The record has a line per call, with words separated by tabs. INO is the inode of a file or
 * directory; paths are absolute:
 *
 *     make PATH INO       opened with O_CREAT; the file is new unless this inode already has the
 *                         name
 *     unnamed INO         opened with O_TMPFILE
 *     write INO AT BYTES  the written bytes follow the line
 *     synced INO AT BYTES the same, on a descriptor with O_DSYNC or O_SYNC
 *     cut INO BYTES       ftruncate, or opened with O_TRUNC
 *     sync INO            fsync or fdatasync, also of a directory
 *     syncfs
 *     mkdir PATH INO, rmdir PATH, unlink PATH, link PATH INO, rename FROM TO, exchange FROM TO
 *
 * Not recorded: calls that failed, and writes to the standard streams, to pipes and through memory
 * maps. Threads: any; no other recorded call happens between a call and its line. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The next definition of the function. The pointer is copied as bytes, since ISO C has no cast from
 * void * to a function pointer. */
#define NEXT(type, fn, name)                                                                       \
    type fn;                                                                                       \
    do {                                                                                           \
        void *symbol = dlsym(RTLD_NEXT, name);                                                     \
        memcpy(&fn, &symbol, sizeof fn);                                                           \
    } while (0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int record = -2; /* -1: nothing is recorded */

static void put(const void *data, size_t n)
{
    for (size_t done = 0; done < n;) {
        const long wrote = syscall(SYS_write, record, (const char *)data + done, n - done);
        if (wrote < 0)
            abort();
        done += (size_t)wrote;
    }
}

__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
    char text[2 * PATH_MAX + 100];
    va_list args;
    va_start(args, format);
    const int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put(text, (size_t)len);
}

/* Call before each recorded call; until the matching end(), other threads' recorded calls wait. */
static bool begin(void)
{
    pthread_mutex_lock(&mutex);
    if (record == -2) {
        const char *path = getenv("POWER_SHIM_LOG");
        record = path == NULL ? -1
                              : (int)syscall(SYS_openat, AT_FDCWD, path,
                                             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    }
    return record >= 0;
}

static void end(void)
{
    const int code = errno;
    pthread_mutex_unlock(&mutex);
    errno = code;
}

/* The absolute path of a name that is relative to an open directory. */
static const char *whole(int at, const char *path, char out[PATH_MAX])
{
    char link[64];
    if (path[0] == '/')
        return path;
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    const ssize_t n = readlink(at == AT_FDCWD ? "/proc/self/cwd" : link, out, PATH_MAX - 1);
    if (n < 0)
        abort();
    snprintf(out + n, PATH_MAX - (size_t)n, "/%s", path);
    return out;
}

/* The path of an open file, as the system reports it. */
static const char *found_at(int fd, char out[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, out, PATH_MAX - 1);
    if (n < 0)
        abort();
    out[n] = '\0';
    return out;
}

static unsigned long long inode(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 ? (unsigned long long)info.st_ino : 0;
}

static bool is_file(int fd)
{
    struct stat info;
    return fd > STDERR_FILENO && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

/* --- opening --- */

typedef int openat_fn(int at, const char *path, int flags, ...);

static int opened(int at, const char *path, int flags, mode_t mode)
{
    char room[PATH_MAX];
    NEXT(openat_fn *, fn, "openat");
    const bool on = begin();
    const int fd = fn(at, path, flags, mode);
    if (on && fd >= 0 && is_file(fd)) {
        if ((flags & O_TMPFILE) == O_TMPFILE)
            line("unnamed\t%llu\n", inode(fd));
        else if (flags & O_CREAT)
            line("make\t%s\t%llu\n", found_at(fd, room), inode(fd));
        if (flags & O_TRUNC)
            line("cut\t%llu\t0\n", inode(fd));
    }
    end();
    return fd;
}

#define MODE_OF(flags, mode)                                                                       \
    mode_t mode = 0;                                                                               \
    if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) {                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode = va_arg(args, mode_t);                                                               \
        va_end(args);                                                                              \
    }

int open(const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return opened(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return opened(at, path, flags, mode);
}

int mkostemp(char *path, int flags)
{
    typedef int mkostemp_fn(char *path, int flags);
    char room[PATH_MAX];
    NEXT(mkostemp_fn *, fn, "mkostemp");
    const bool on = begin();
    const int fd = fn(path, flags);
    if (on && fd >= 0)
        line("make\t%s\t%llu\n", found_at(fd, room), inode(fd));
    end();
    return fd;
}

/* --- bytes --- */

static void wrote(int fd, const void *data, ssize_t n, off_t at)
{
    const bool synced = (fcntl(fd, F_GETFL) & O_DSYNC) != 0;
    line("%s\t%llu\t%lld\t%zd\n", synced ? "synced" : "write", inode(fd), (long long)at, n);
    put(data, (size_t)n);
}

ssize_t write(int fd, const void *data, size_t n)
{
    typedef ssize_t write_fn(int fd, const void *data, size_t n);
    NEXT(write_fn *, fn, "write");
    const bool on = begin() && is_file(fd);
    const ssize_t done = fn(fd, data, n);
    if (on && done > 0)
        wrote(fd, data, done, lseek(fd, 0, SEEK_CUR) - done);
    end();
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    typedef ssize_t pwrite_fn(int fd, const void *data, size_t n, off_t at);
    NEXT(pwrite_fn *, fn, "pwrite");
    const bool on = begin() && is_file(fd);
    const ssize_t done = fn(fd, data, n, at);
    if (on && done > 0)
        wrote(fd, data, done, at);
    end();
    return done;
}

/* Each part is recorded as a write of its own. */
ssize_t writev(int fd, const struct iovec *parts, int n)
{
    typedef ssize_t writev_fn(int fd, const struct iovec *parts, int n);
    NEXT(writev_fn *, fn, "writev");
    const bool on = begin() && is_file(fd);
    const ssize_t done = fn(fd, parts, n);
    ssize_t left = done;
    off_t at = on && done > 0 ? lseek(fd, 0, SEEK_CUR) - done : 0;
    for (int i = 0; on && i < n && left > 0; i++) {
        const ssize_t part = left < (ssize_t)parts[i].iov_len ? left : (ssize_t)parts[i].iov_len;
        wrote(fd, parts[i].iov_base, part, at);
        left -= part;
        at += part;
    }
    end();
    return done;
}

int ftruncate(int fd, off_t size)
{
    typedef int ftruncate_fn(int fd, off_t size);
    NEXT(ftruncate_fn *, fn, "ftruncate");
    const bool on = begin();
    const int rc = fn(fd, size);
    if (on && rc == 0)
        line("cut\t%llu\t%lld\n", inode(fd), (long long)size);
    end();
    return rc;
}

/* Recorded but not done: the power never really fails. */
static int synced(int fd, bool all)
{
    if (begin())
        all ? line("syncfs\n") : line("sync\t%llu\n", inode(fd));
    end();
    return 0;
}

int fsync(int fd)
{
    return synced(fd, false);
}

int fdatasync(int fd)
{
    return synced(fd, false);
}

int syncfs(int fd)
{
    return synced(fd, true);
}

/* --- names --- */

int mkdirat(int at, const char *path, mode_t mode)
{
    typedef int mkdirat_fn(int at, const char *path, mode_t mode);
    char room[PATH_MAX];
    struct stat info;
    NEXT(mkdirat_fn *, fn, "mkdirat");
    const bool on = begin();
    const int rc = fn(at, path, mode);
    if (on && rc == 0 && fstatat(at, path, &info, AT_SYMLINK_NOFOLLOW) == 0)
        line("mkdir\t%s\t%llu\n", whole(at, path, room), (unsigned long long)info.st_ino);
    end();
    return rc;
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

int unlinkat(int at, const char *path, int flags)
{
    typedef int unlinkat_fn(int at, const char *path, int flags);
    char room[PATH_MAX];
    NEXT(unlinkat_fn *, fn, "unlinkat");
    const bool on = begin();
    const int rc = fn(at, path, flags);
    if (on && rc == 0)
        line("%s\t%s\n", flags & AT_REMOVEDIR ? "rmdir" : "unlink", whole(at, path, room));
    end();
    return rc;
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int renameat2(int from, const char *a, int to, const char *b, unsigned flags)
{
    typedef int renameat2_fn(int from, const char *a, int to, const char *b, unsigned flags);
    char rooms[2][PATH_MAX];
    NEXT(renameat2_fn *, fn, "renameat2");
    const bool on = begin();
    const int rc = fn(from, a, to, b, flags);
    if (on && rc == 0)
        line("%s\t%s\t%s\n", flags & RENAME_EXCHANGE ? "exchange" : "rename",
             whole(from, a, rooms[0]), whole(to, b, rooms[1]));
    end();
    return rc;
}

int renameat(int from, const char *a, int to, const char *b)
{
    return renameat2(from, a, to, b, 0);
}

int rename(const char *a, const char *b)
{
    return renameat2(AT_FDCWD, a, AT_FDCWD, b, 0);
}

int linkat(int from, const char *a, int to, const char *b, int flags)
{
    typedef int linkat_fn(int from, const char *a, int to, const char *b, int flags);
    char room[PATH_MAX];
    struct stat info;
    NEXT(linkat_fn *, fn, "linkat");
    const bool on = begin();
    const int rc = fn(from, a, to, b, flags);
    if (on && rc == 0 && fstatat(to, b, &info, AT_SYMLINK_NOFOLLOW) == 0)
        line("link\t%s\t%llu\n", whole(to, b, room), (unsigned long long)info.st_ino);
    end();
    return rc;
}

int link(const char *a, const char *b)
{
    return linkat(AT_FDCWD, a, AT_FDCWD, b, 0);
}
