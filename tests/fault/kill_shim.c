/* SPDX-License-Identifier: Apache-2.0 */
/* kill_shim.c -- for tests: kills the process (SIGKILL) right before the N-th of its calls that
 * change the disk. Loaded before the C library (LD_PRELOAD).
 *
 *     KILL_SHIM=N        the number of the call, from 1; 0: none. Calls are counted only once this
 *                        variable is set (fork_server.c sets it for each job)
 *     KILL_SHIM_STOP=1   stop the process instead (SIGSTOP); the call is made when it continues
 *     KILL_SHIM_TORN=1   if the call writes bytes, write the first half of them before the kill
 *     KILL_SHIM_LOG=FILE append the name of the call and N before the kill, or "calls" and the
 *                        number of counted calls at exit
 *
 * These calls are counted: writing, creating, truncating, linking, renaming, removing and syncing;
 * but not writes to the standard streams. Threads: any. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UNKNOWN = -1 };

static atomic_ulong n_calls;
static atomic_long deadly = UNKNOWN;

static void say(const char *text, unsigned long n)
{
    const char *path = getenv("KILL_SHIM_LOG");
    FILE *log = path != NULL ? fopen(path, "a") : NULL;
    if (log == NULL)
        return;
    fprintf(log, "%s %lu\n", text, n);
    fclose(log);
}

__attribute__((destructor)) static void end(void)
{
    say("calls", atomic_load(&n_calls));
}

/* Counts a call. Is it the N-th? */
static bool is_due(void)
{
    if (atomic_load(&deadly) == UNKNOWN) {
        const char *text = getenv("KILL_SHIM");
        if (text == NULL)
            return false;
        atomic_store(&deadly, strtol(text, NULL, 10));
    }
    return atomic_fetch_add(&n_calls, 1) + 1 == (unsigned long)atomic_load(&deadly);
}

static bool is_set(const char *name)
{
    const char *text = getenv(name);
    return text != NULL && *text == '1';
}

static void die(const char *call)
{
    say(call, (unsigned long)atomic_load(&deadly));
    raise(is_set("KILL_SHIM_STOP") ? SIGSTOP : SIGKILL);
}

static void call(const char *name)
{
    if (is_due())
        die(name);
}

/* The next definition of the function. The pointer is copied as bytes, since ISO C has no cast from
 * void * to a function pointer. */
#define NEXT(type, fn, name)                                                                       \
    type fn;                                                                                       \
    do {                                                                                           \
        void *symbol = dlsym(RTLD_NEXT, name);                                                     \
        memcpy(&fn, &symbol, sizeof fn);                                                           \
    } while (0)

typedef ssize_t write_fn(int fd, const void *data, size_t n);
typedef ssize_t pwrite_fn(int fd, const void *data, size_t n, off_t at);
typedef int open_fn(const char *path, int flags, ...);

static bool torn(void)
{
    return is_set("KILL_SHIM_TORN");
}

ssize_t write(int fd, const void *data, size_t n)
{
    NEXT(write_fn *, fn, "write");
    if (fd > STDERR_FILENO && is_due()) {
        if (torn())
            (void)!fn(fd, data, n / 2);
        die("write");
    }
    return fn(fd, data, n);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    NEXT(pwrite_fn *, fn, "pwrite");
    if (is_due()) {
        if (torn())
            (void)!fn(fd, data, n / 2, at);
        die("pwrite");
    }
    return fn(fd, data, n, at);
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    if (makes) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
        call("open");
    }
    NEXT(open_fn *, fn, "open");
    return fn(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    typedef int openat_fn(int at, const char *path, int flags, ...);
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
        call("openat");
    }
    NEXT(openat_fn *, fn, "openat");
    return fn(at, path, flags, mode);
}

#define COUNTED(name, parameters, arguments)                                                       \
    int name parameters                                                                            \
    {                                                                                              \
        typedef int name##_fn parameters;                                                          \
        NEXT(name##_fn *, fn, #name);                                                              \
        call(#name);                                                                               \
        return fn arguments;                                                                       \
    }

COUNTED(unlink, (const char *path), (path))
COUNTED(unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
COUNTED(rename, (const char *a, const char *b), (a, b))
COUNTED(renameat, (int f, const char *a, int g, const char *b), (f, a, g, b))
COUNTED(renameat2, (int f, const char *a, int g, const char *b, unsigned flags),
        (f, a, g, b, flags))
COUNTED(link, (const char *a, const char *b), (a, b))
COUNTED(linkat, (int f, const char *a, int g, const char *b, int flags), (f, a, g, b, flags))
COUNTED(mkdir, (const char *path, mode_t mode), (path, mode))
COUNTED(mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode))
COUNTED(rmdir, (const char *path), (path))
COUNTED(ftruncate, (int fd, off_t size), (fd, size))

/* Does nothing: killing a process loses no data that the system already holds, and hundreds of jobs
 * would wait for the disk. */
int fsync(int fd)
{
    (void)fd;
    call("fsync");
    return 0;
}

int syncfs(int fd)
{
    (void)fd;
    call("syncfs");
    return 0;
}
