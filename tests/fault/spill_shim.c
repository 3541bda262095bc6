/* SPDX-License-Identifier: Apache-2.0 */
/* spill_shim.c -- for tests: a disk that fails for the temporary files of a job. Loaded before the
 * C library (LD_PRELOAD), it makes a call on such a file fail, or really damages the file.
 *
 *     SPILL_SHIM=KIND:CALL:N:WHAT
 *
 *     KIND   sets, keys, edges, docs: a temporary file of this kind, recognised by its header
 *            (spill_file.h); any: for CALL open, since the kind is not yet known then
 *     CALL   write, read or open
 *     N      which of these calls, from 1
 *     WHAT   a number: the call fails with this errno, and so does every later one
 *            byte: before the read, one byte in the range to read is changed
 *            short: before the read, the file is truncated where the read begins
 *            gone: before the open, the directory is removed with its contents
 *     SPILL_SHIM_ROOM=BYTES   statvfs reports this many free bytes
 *     SPILL_SHIM_LOG=FILE     append "fault …" for each fault, and "calls KIND CALL N" at exit
 *
 * Threads: any; calls are counted atomically. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { ANY, SETS, KEYS, EDGES, DOCS, N_KINDS };
enum { WRITE, READ, OPEN, N_CALLS };
enum { FAIL, BYTE, SHORT, GONE };

static const char *const kind_names[N_KINDS] = {"any", "sets", "keys", "edges", "docs"};
static const char *const call_names[N_CALLS] = {"write", "read", "open"};

static struct {
    bool armed;
    unsigned kind, call, what;
    unsigned long n;
    int code;
} plan;
static atomic_ulong counts[N_KINDS][N_CALLS];

static void say(const char *line)
{
    const char *path = getenv("SPILL_SHIM_LOG");
    FILE *log = path != NULL ? fopen(path, "a") : NULL;
    if (log == NULL)
        return;
    fputs(line, log);
    fclose(log);
}

static unsigned find(const char *const *names, unsigned n, const char *name)
{
    unsigned i = 0;
    while (i < n && strcmp(names[i], name) != 0)
        i++;
    return i;
}

__attribute__((constructor)) static void begin(void)
{
    static const char *const whats[] = {"", "byte", "short", "gone"};
    char kind[16], call[16], what[16];
    const char *text = getenv("SPILL_SHIM");
    if (text == NULL || *text == '\0')
        return;
    if (sscanf(text, "%15[^:]:%15[^:]:%lu:%15s", kind, call, &plan.n, what) != 4)
        abort();
    plan.kind = find(kind_names, N_KINDS, kind);
    plan.call = find(call_names, N_CALLS, call);
    plan.what = find(whats, 4, what) % 4;
    plan.code = atoi(what);
    if (plan.kind == N_KINDS || plan.call == N_CALLS || (plan.what == FAIL && plan.code == 0))
        abort();
    plan.armed = true;
}

__attribute__((destructor)) static void end(void)
{
    for (unsigned kind = 0; kind < N_KINDS; kind++)
        for (unsigned call = 0; call < N_CALLS; call++) {
            char line[80];
            snprintf(line, sizeof line, "calls %s %s %lu\n", kind_names[kind], call_names[call],
                     (unsigned long)atomic_load(&counts[kind][call]));
            say(line);
        }
}

/* Counts a call. Must it fail, or must the file be damaged now? */
static bool is_due(unsigned kind, unsigned call)
{
    unsigned long n = atomic_fetch_add(&counts[kind][call], 1) + 1;
    if (!plan.armed || plan.kind != kind || plan.call != call)
        return false;
    bool due = plan.what == FAIL ? n >= plan.n : n == plan.n;
    if (due) {
        char line[80];
        snprintf(line, sizeof line, "fault %s %s %lu\n", kind_names[kind], call_names[call], n);
        say(line);
    }
    return due;
}

typedef ssize_t read_fn(int fd, void *data, size_t n, off_t at);
typedef ssize_t write_fn(int fd, const void *data, size_t n, off_t at);
typedef int open_fn(const char *path, int flags, ...);
typedef int statvfs_fn(const char *path, struct statvfs *out);

/* The next definition of the function. The pointer is copied as bytes, since ISO C has no cast from
 * void * to a function pointer. */
static void next(const char *name, void *out)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(out, &symbol, sizeof symbol);
}

static read_fn *real_pread(void)
{
    read_fn *fn;
    next("pread", &fn);
    return fn;
}

static write_fn *real_pwrite(void)
{
    write_fn *fn;
    next("pwrite", &fn);
    return fn;
}

/* The kind that a header names; ANY: not a file of ours. */
static unsigned kind_of(const unsigned char *header)
{
    uint32_t kind;
    if (memcmp(header, "bmspill1", 8) != 0)
        return ANY;
    memcpy(&kind, header + 8, sizeof kind);
    return kind <= DOCS ? kind : ANY; /* BM_SPILL_SETS, KEYS, RUN, ROWS are 1, 2, 3, 4 */
}

static unsigned kind_of_file(int fd)
{
    unsigned char header[12];
    int kept = errno;
    ssize_t n = real_pread()(fd, header, sizeof header, 0);
    errno = kept;
    return n == (ssize_t)sizeof header ? kind_of(header) : ANY;
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    unsigned kind = at == 0 && n >= 12 ? kind_of(data) : kind_of_file(fd);
    if (kind != ANY && is_due(kind, WRITE)) {
        errno = plan.code;
        return -1;
    }
    return real_pwrite()(fd, data, n, at);
}

static void damage(int fd, size_t n, off_t at)
{
    unsigned char byte;
    off_t place = at + (off_t)(n / 2);
    if (plan.what == SHORT) {
        if (ftruncate(fd, at) != 0)
            abort();
        return;
    }
    if (real_pread()(fd, &byte, 1, place) != 1)
        abort();
    byte ^= 0x10;
    if (real_pwrite()(fd, &byte, 1, place) != 1)
        abort();
}

ssize_t pread(int fd, void *data, size_t n, off_t at)
{
    unsigned kind = kind_of_file(fd);
    if (kind != ANY && is_due(kind, READ)) {
        if (plan.what == FAIL) {
            errno = plan.code;
            return -1;
        }
        damage(fd, n, at);
    }
    return real_pread()(fd, data, n, at);
}

static void remove_directory(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir != NULL)
        closedir(dir);
    if (rmdir(path) != 0)
        abort();
}

int open(const char *path, int flags, ...)
{
    open_fn *fn;
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    if ((flags & O_TMPFILE) == O_TMPFILE && is_due(ANY, OPEN)) {
        if (plan.what == FAIL) {
            errno = plan.code;
            return -1;
        }
        remove_directory(path);
    }
    next("open", &fn);
    return fn(path, flags, mode);
}

int statvfs(const char *path, struct statvfs *out)
{
    statvfs_fn *fn;
    const char *room = getenv("SPILL_SHIM_ROOM");
    next("statvfs", &fn);
    int result = fn(path, out);
    if (result == 0 && room != NULL)
        out->f_bavail = strtoull(room, NULL, 10) / out->f_frsize;
    return result;
}
