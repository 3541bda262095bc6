/* SPDX-License-Identifier: Apache-2.0 */
/* map_shim.c -- for tests: a file system without shared memory maps, or without locks. Loaded
 * before the C library (LD_PRELOAD), it makes such calls fail on files below a directory.
 *
 *     MAP_SHIM=DIR:WHAT:CODE
 *
 *     DIR    absolute, without symbolic links
 *     WHAT   maps: mmap() of such a file with MAP_SHARED; locks: flock() and locks of fcntl()
 *     CODE   the errno: 19 (ENODEV), 22 (EINVAL), 37 (ENOLCK), 38 (ENOSYS) ... */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

/* The code with which the call fails; 0: it succeeds. */
static int fault(int fd, const char *what)
{
    const char *said = getenv("MAP_SHIM"), *kind = said != NULL ? strchr(said, ':') : NULL,
               *code = kind != NULL ? strchr(kind + 1, ':') : NULL;
    char link[64], path[4096];
    if (code == NULL || fd < 0 || strncmp(kind + 1, what, strlen(what)) != 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path);
    const size_t len = (size_t)(kind - said);
    return n > (ssize_t)len && strncmp(path, said, len) == 0 && path[len] == '/' ? atoi(code + 1)
                                                                                 : 0;
}

static bool fails(int fd, const char *what)
{
    const int before = errno, code = fault(fd, what);
    errno = code != 0 ? code : before;
    return code != 0;
}

void *mmap(void *at, size_t bytes, int access, int flags, int fd, off_t from)
{
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "mmap");
    if ((flags & MAP_SHARED) != 0 && fails(fd, "maps"))
        return MAP_FAILED;
    return real(at, bytes, access, flags, fd, from);
}

void *mmap64(void *at, size_t bytes, int access, int flags, int fd, off_t from)
{
    return mmap(at, bytes, access, flags, fd, from);
}

int flock(int fd, int how)
{
    static int (*real)(int, int);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "flock");
    return fails(fd, "locks") ? -1 : real(fd, how);
}

int fcntl64(int fd, int command, ...)
{
    static int (*real)(int, int, ...);
    va_list args;
    va_start(args, command);
    void *what = va_arg(args, void *);
    va_end(args);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "fcntl64");
    if ((command == F_SETLK || command == F_SETLKW || command == F_GETLK) && fails(fd, "locks"))
        return -1;
    return real(fd, command, what);
}

int fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *what = va_arg(args, void *);
    va_end(args);
    return fcntl64(fd, command, what);
}
