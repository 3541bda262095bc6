/* SPDX-License-Identifier: Apache-2.0 */
/* column_limits.c -- what do columns (src/base/column.h) do where address space, committed memory,
 * maps of files or memory itself are short? The answers are in docs/design.md.
 *
 *   column_limits limit | commit | column | calls DIR GIB
 *
 * Files of GIB go to DIR; prints lines of JSON.
 *
 * limit: Three columns take turns to grow by 8 MiB within RLIMIT_AS of 1 GiB: how much of it do
 * they get?
 * commit: How much of a mapping of 1 GiB of each kind does the system count as committed? With
 * vm.overcommit_memory=2 it refuses what exceeds its limit by this sum. The setting is not
 * changed; under it MAP_NORESERVE has no effect, so that line is true for 0 and 1 alone.
 * column, calls: A file is written and read in order, 64 KiB at a time, and 8 bytes are read at
 * random places: through a column, or by pwrite and pread alone, which is all that a disk without
 * shared maps has. Before "cold" the system is asked to forget the file, as it does where
 * documents exceed memory. `read_mib`: from the disk; `held_mib`: the most in memory so far. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/column.h"

#define GIB     ((size_t)1 << 30)
#define PIECE   ((size_t)64 << 10)
#define RANDOMS 20000u

static void check(int fine, const char *what)
{
    if (!fine) {
        perror(what);
        _exit(1);
    }
}

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The number after a word in a file of /proc, in KiB. */
static long kib(const char *file, const char *word)
{
    char line[256] = "";
    FILE *in = fopen(file, "r");
    check(in != NULL, file);
    while (strncmp(line, word, strlen(word)) != 0 && fgets(line, sizeof line, in) != NULL)
        continue;
    fclose(in);
    return strtol(line + strlen(word), NULL, 10);
}

static void limit_space(const char *dir)
{
    bm_column columns[3] = {{0}};
    size_t sum = 0, turn = 0;
    const rlim_t most = (rlim_t)kib("/proc/self/status", "VmSize:") * 1024 + GIB;
    check(setrlimit(RLIMIT_AS, &(struct rlimit){most, RLIM_INFINITY}) == 0, "setrlimit");
    for (bm_column *c = columns;
         bm_column_grow(c, atomic_load(&c->bytes) + GIB / 128, dir, NULL) == BM_OK;)
        c = &columns[++turn % 3];
    for (size_t i = 0; i < 3; bm_column_reset(&columns[i++]))
        sum += atomic_load(&columns[i].bytes);
    printf("{\"limit\": \"%s\", \"of_limit\": %.2f}\n", dir != NULL ? "file" : "memory",
           (double)sum / (double)GIB);
}

static void commit_of(const char *kind, int prot, int flags, int fd)
{
    const long before = kib("/proc/meminfo", "Committed_AS:");
    void *at = mmap(NULL, GIB, prot, flags, fd, 0);
    check(at != MAP_FAILED, kind);
    const long kib_more = kib("/proc/meminfo", "Committed_AS:") - before;
    munmap(at, GIB);
    printf("{\"commit\": \"%s\", \"gib\": %.1f}\n", kind, (double)kib_more / (1 << 20));
}

static void commit_sums(const char *dir)
{
    const int any = MAP_PRIVATE | MAP_ANONYMOUS, both = PROT_READ | PROT_WRITE,
              fd = open(dir, O_TMPFILE | O_RDWR, 0600);
    check(fd >= 0 && ftruncate(fd, (off_t)GIB) == 0, dir);
    commit_of("memory", both, any, -1);
    commit_of("memory, MAP_NORESERVE", both, any | MAP_NORESERVE, -1);
    commit_of("PROT_NONE", PROT_NONE, any, -1);
    commit_of("shared pages of a file", both, MAP_SHARED, fd);
    close(fd);
}

typedef struct disk {
    size_t bytes;
    bm_column column; /* if mapped; else calls are used */
    int fd;
    bool mapped;
    uint64_t sum;
} disk;

static void report(const disk *d, const char *what, const double began[2], size_t bytes,
                   long before)
{
    const double n = bytes > 0 ? (double)bytes / (double)GIB : RANDOMS / 1e6;
    printf("{\"disk\": \"%s\", \"way\": \"%s\", \"seconds\": %.2f, \"cpu\": %.2f, \"per\": \"%s\", "
           "\"read_mib\": %ld, \"held_mib\": %ld}\n",
           what, d->mapped ? "column" : "calls", (now(CLOCK_MONOTONIC) - began[0]) / n,
           (now(CLOCK_PROCESS_CPUTIME_ID) - began[1]) / n, bytes > 0 ? "GiB" : "million",
           (kib("/proc/self/io", "read_bytes:") >> 20) - before,
           kib("/proc/self/status", "VmHWM:") / 1024);
}

static void piece(disk *d, size_t at, bool write, char *buffer)
{
    char *data = (char *)d->column.data + at;
    if (d->mapped && write)
        memcpy(data, buffer, PIECE);
    else if (d->mapped)
        memcpy(buffer, data, PIECE);
    else
        check((write ? pwrite(d->fd, buffer, PIECE, (off_t)at)
                     : pread(d->fd, buffer, PIECE, (off_t)at)) == (ssize_t)PIECE,
              "piece");
    if (d->mapped && at % ((GIB / 64)) == 0)
        bm_column_leave(&d->column);
}

static void in_order(disk *d, bool write, const char *what)
{
    static char buffer[PIECE];
    const long before = kib("/proc/self/io", "read_bytes:") >> 20;
    const double began[2] = {now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID)};
    for (size_t at = 0; at < d->bytes; at += PIECE) {
        memset(buffer, (int)(at / PIECE), PIECE); /* the data to write */
        piece(d, at, write, buffer);
        d->sum += (unsigned char)buffer[at / PIECE % PIECE];
    }
    report(d, what, began, d->bytes, before);
}

static void at_random(disk *d, bool by_read, const char *what)
{
    uint64_t state = 1, value, sum = 0;
    bm_column_leave(&d->column);
    fsync(d->fd);
    posix_fadvise(d->fd, 0, 0, POSIX_FADV_DONTNEED);
    const long before = kib("/proc/self/io", "read_bytes:") >> 20;
    const double began[2] = {now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID)};
    for (uint32_t i = 0; i < RANDOMS; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        const size_t at = (size_t)(state >> 20) % (d->bytes / 8) * 8;
        if (!by_read)
            memcpy(&value, (char *)d->column.data + at, sizeof value);
        else if (d->mapped)
            check(bm_column_read(&d->column, &value, sizeof value, at), "bm_column_read");
        else
            check(pread(d->fd, &value, sizeof value, (off_t)at) == sizeof value, "pread");
        sum += value;
    }
    d->sum = sum;
    report(d, what, began, 0, before);
}

static void disk_ways(const char *dir, size_t bytes, bool mapped)
{
    disk d = {.bytes = bytes, .mapped = mapped};
    if (mapped) {
        check(bm_column_open_file(&d.column, bytes, dir, NULL) == BM_OK, dir);
        d.fd = atomic_load(&d.column.file) - 1;
    } else {
        d.fd = open(dir, O_TMPFILE | O_RDWR, 0600);
        check(d.fd >= 0 && posix_fallocate(d.fd, 0, (off_t)bytes) == 0, dir);
    }
    in_order(&d, true, "write in order");
    in_order(&d, false, "read in order");
    at_random(&d, true, "read at random, cold");
    if (mapped)
        at_random(&d, false, "read at random through pages, cold");
    bm_column_reset(&d.column);
    printf("{\"disk\": \"sum\", \"value\": %" PRIu64 "}\n", d.sum);
}

int main(int argc, char **argv)
{
    const char *part = argc == 4 ? argv[1] : "";
    if (strcmp(part, "limit") == 0)
        limit_space(NULL), limit_space(argv[2]);
    else if (strcmp(part, "commit") == 0)
        commit_sums(argv[2]);
    else if (strcmp(part, "column") == 0 || strcmp(part, "calls") == 0)
        disk_ways(argv[2], strtoul(argv[3], NULL, 10) * GIB, part[1] == 'o');
    else
        check(0, "column_limits limit | commit | column | calls DIR GIB");
    return 0;
}
