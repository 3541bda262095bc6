/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_calls.h -- makes one system call or one allocation of a program fail: the N-th, counted from
 * 0 over all functions of that sort that the linker redirects to a WRAP, on any thread. Header
 * only, for one source file per program. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

static struct {
    bool armed, with_memory; /* with_memory: an allocation fails; otherwise a system call */
    long left;               /* calls until the one that fails */
    int code;
    bool failed;
    const char *which;
    /* called before the planned call, which then succeeds; NULL: the call fails */
    void (*before)(void);
    /* shared memory, set when a call of a child process failed; NULL: no children */
    bool *in_child;
} plan;

static inline void plan_call(long n, int code, bool memory)
{
    plan.with_memory = memory;
    plan.code = code;
    plan.left = n;
    plan.failed = false;
    plan.which = "none";
    plan.armed = true;
}

/* Is this the planned call? EINTR applies only to calls that wait. */
static inline bool fails(const char *which, bool memory)
{
    bool waits = strstr(which, "read") != NULL || strstr(which, "write") != NULL;
    if (!plan.armed || memory != plan.with_memory || (plan.code == EINTR && !waits) ||
        __atomic_fetch_sub(&plan.left, 1, __ATOMIC_RELAXED) != 0)
        return false;
    plan.failed = true;
    plan.which = which;
    if (plan.in_child != NULL)
        *plan.in_child = true;
    if (plan.before != NULL) {
        plan.before();
        return false;
    }
    errno = memory ? ENOMEM : plan.code;
    return true;
}

#define WRAP(type, name, parameters, arguments, failure, memory)                                   \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails(#name, memory) ? failure : __real_##name arguments;                           \
    }

/* open and openat: there is a mode only where a file may be made. */
#define MAKES(flags) (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE)

#define WRAP_OPEN                                                                                  \
    int __real_open(const char *path, int flags, ...);                                             \
    int __wrap_open(const char *path, int flags, ...);                                             \
    int __wrap_open(const char *path, int flags, ...)                                              \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const mode_t mode = MAKES(flags) ? va_arg(rest, mode_t) : 0;                               \
        va_end(rest);                                                                              \
        return fails("open", false) ? -1 : __real_open(path, flags, mode);                         \
    }

#define WRAP_OPENAT                                                                                \
    int __real_openat(int fd, const char *path, int flags, ...);                                   \
    int __wrap_openat(int fd, const char *path, int flags, ...);                                   \
    int __wrap_openat(int fd, const char *path, int flags, ...)                                    \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const mode_t mode = MAKES(flags) ? va_arg(rest, mode_t) : 0;                               \
        va_end(rest);                                                                              \
        return fails("openat", false) ? -1 : __real_openat(fd, path, flags, mode);                 \
    }

/* fsync and its like do nothing but fail: a thousand runs would wait for the disk. */
#define WRAP_SYNC(name)                                                                            \
    int __wrap_##name(int fd);                                                                     \
    int __wrap_##name(int fd)                                                                      \
    {                                                                                              \
        (void)fd;                                                                                  \
        return fails(#name, false) ? -1 : 0;                                                       \
    }

#define WRAP_MEMORY                                                                                \
    WRAP(void *, malloc, (size_t n), (n), NULL, true)                                              \
    WRAP(void *, calloc, (size_t n, size_t size), (n, size), NULL, true)                           \
    WRAP(void *, realloc, (void *block, size_t n), (block, n), NULL, true)
