/* SPDX-License-Identifier: Apache-2.0 */
/* held_blocks.h -- makes every allocation and system call of a job able to fail (wrap_calls.h), and
 * tracks the memory blocks that the job holds. Header only, for one source file per program. */
#pragma once

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wrap_calls.h"

enum { BLOCKS = 1 << 16 };

static struct {
    pthread_mutex_t lock; /* threads of the job also allocate */
    void *blocks[BLOCKS]; /* a hash table by address; NULL: free */
    size_t n;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t place_of(const void *block)
{
    size_t at = ((uintptr_t)block >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 48;
    while (known.blocks[at] != NULL && known.blocks[at] != block)
        at = (at + 1) % BLOCKS;
    return at;
}

static void *held(void *block)
{
    pthread_mutex_lock(&known.lock);
    if (plan.armed && block != NULL && known.n < BLOCKS / 2) {
        known.blocks[place_of(block)] = block;
        known.n++;
    }
    pthread_mutex_unlock(&known.lock);
    return block;
}

/* A block that was allocated before the plan was armed, or by the C library itself, is not in the
 * table. */
static void given_back(void *block)
{
    pthread_mutex_lock(&known.lock);
    size_t at = place_of(block);
    if (block != NULL && known.blocks[at] == block) {
        known.n--;
        known.blocks[at] = NULL;
        for (size_t next = (at + 1) % BLOCKS; known.blocks[next] != NULL;
             next = (next + 1) % BLOCKS) {
            void *moved = known.blocks[next];
            known.blocks[next] = NULL;
            known.blocks[place_of(moved)] = moved;
        }
    }
    pthread_mutex_unlock(&known.lock);
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
    given_back(block);
    __real_free(block);
}

void *__real_realloc(void *block, size_t n);
void *__wrap_realloc(void *block, size_t n);
void *__wrap_realloc(void *block, size_t n)
{
    if (fails("realloc", true))
        return NULL;
    given_back(block);
    return held(__real_realloc(block, n));
}

#define WRAP_BLOCK(name, parameters, arguments)                                                    \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        return fails(#name, true) ? NULL : held(__real_##name arguments);                          \
    }

WRAP_BLOCK(malloc, (size_t n), (n))
WRAP_BLOCK(calloc, (size_t n, size_t size), (n, size))
WRAP_BLOCK(aligned_alloc, (size_t alignment, size_t n), (alignment, n))
WRAP(ssize_t, read, (int fd, void *data, size_t n), (fd, data, n), -1, false)
WRAP(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, n, at), -1, false)
WRAP(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n), -1, false)
WRAP(int, fstat, (int fd, struct stat *out), (fd, out), -1, false)
WRAP(int, stat, (const char *path, struct stat *out), (path, out), -1, false)
WRAP(int, lstat, (const char *path, struct stat *out), (path, out), -1, false)
WRAP(int, rename, (const char *from, const char *to), (from, to), -1, false)
WRAP(locale_t, newlocale, (int mask, const char *name, locale_t base), (mask, name, base),
     (locale_t)0, false)
WRAP(int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *how, void *(*run)(void *), void *ctx),
     (thread, how, run, ctx), EAGAIN, false)

WRAP_SYNC(fsync)

WRAP_OPEN

static inline size_t open_files(void)
{
    size_t n = 0;
    DIR *folder = opendir("/proc/self/fd");
    cr_assert_not_null(folder);
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n;
}
