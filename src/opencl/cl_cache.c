/* SPDX-License-Identifier: Apache-2.0 */
/* cl_cache.c -- see the header. The directory is opened once and checked by its descriptor, and
 * every file is opened relative to it, so that nothing can be exchanged between check and use. */
#include "opencl/cl_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/files.h"

#define MAGIC     "BMCLBIN1"
#define FOLDER    "opencl"
#define MAX_ENTRY ((uint64_t)256 << 20)

typedef struct header {
    char magic[8];
    uint64_t key_lo, key_hi, len, sum_lo, sum_hi;
} header;

bm_cl_key bm_cl_key_add(bm_cl_key key, const void *data, size_t len)
{
    const uint64_t frame[3] = {key.lo, key.hi, len};
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, frame, sizeof frame);
    XXH3_128bits_update(&state, data, len);
    XXH128_hash_t h = XXH3_128bits_digest(&state);
    return (bm_cl_key){.lo = h.low64, .hi = h.high64};
}

void bm_cl_cache_dir(const char *dir, char *out, size_t cap)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (dir != NULL)
        snprintf(out, cap, "%s", dir);
    else if (xdg != NULL && xdg[0] == '/')
        snprintf(out, cap, "%s/bandmill", xdg);
    else if (home != NULL && home[0] == '/')
        snprintf(out, cap, "%s/.cache/bandmill", home);
    else
        snprintf(out, cap, "%s", "");
}

/* Like mkdir -p. Existing folders are left as they are. */
static int make_parents(char *path)
{
    for (char *p = path + 1;; ++p) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        int failed = mkdir(path, 0700) != 0 && errno != EEXIST;
        *p = end;
        if (failed)
            return -1;
        if (end == '\0')
            return 0;
    }
}

bm_status bm_cl_cache_open(bm_cl_cache *cache, const char *dir, bm_error *err)
{
    char base[PATH_MAX - 16], path[PATH_MAX];
    cache->fd = -1;
    cache->ending = "clbin";
    bm_cl_cache_dir(dir, base, sizeof base);
    if (base[0] == '\0')
        return BM_OK;
    snprintf(path, sizeof path, "%s/" FOLDER, base);
    if (make_parents(path) != 0)
        return bm_fail_errno(err, errno, path, "cannot make the program cache");
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        int errnum = errno;
        if (fd >= 0)
            close(fd);
        return bm_fail_errno(err, errnum, path, "cannot open the program cache");
    }
    if (st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
        close(fd);
        return bm_fail_at(err, BM_ERR_IO, path, 0,
                          "the program cache is not used: %s (it must be ours alone, mode 0700)",
                          st.st_uid != geteuid() ? "another user owns it" : "others may enter it");
    }
    cache->fd = fd;
    return BM_OK;
}

void bm_cl_cache_close(bm_cl_cache *cache)
{
    if (cache->fd >= 0)
        close(cache->fd);
    cache->fd = -1;
}

static void file_name(const bm_cl_cache *cache, bm_cl_key key, char out[48])
{
    snprintf(out, 48, "%016llx%016llx.%.8s", (unsigned long long)key.hi, (unsigned long long)key.lo,
             cache->ending != NULL ? cache->ending : "");
}

static bool header_fits(const header *h, bm_cl_key key, const struct stat *st)
{
    return memcmp(h->magic, MAGIC, sizeof h->magic) == 0 && h->key_lo == key.lo &&
           h->key_hi == key.hi && h->len > 0 && h->len <= MAX_ENTRY &&
           (uint64_t)st->st_size == sizeof *h + h->len;
}

/* Read `len` bytes. Returns false if the file has fewer. */
static bool read_whole(int fd, void *data, size_t len, uint64_t offset)
{
    size_t got;
    return bm_pread_all(fd, data, len, offset, &got) == 0 && got == len;
}

bm_status bm_cl_cache_load(const bm_cl_cache *cache, bm_cl_key key, void **binary, size_t *len,
                           bm_error *err)
{
    char name[48];
    file_name(cache, key, name);
    int fd = cache->fd < 0
                 ? -1
                 : openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return BM_NOT_FOUND;
    bm_status status = BM_NOT_FOUND;
    struct stat st;
    header h;
    void *data = NULL;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & 022) != 0 || !read_whole(fd, &h, sizeof h, 0) || !header_fits(&h, key, &st))
        goto out;
    data = bm_alloc((size_t)h.len, 1);
    if (data == NULL) {
        status = bm_fail_nomem(err, (size_t)h.len);
        goto out;
    }
    if (!read_whole(fd, data, (size_t)h.len, sizeof h))
        goto out;
    XXH128_hash_t sum = XXH3_128bits(data, (size_t)h.len);
    if (sum.low64 != h.sum_lo || sum.high64 != h.sum_hi)
        goto out;
    *binary = data;
    *len = (size_t)h.len;
    data = NULL;
    status = BM_OK;
out:
    bm_free(data);
    close(fd);
    return status;
}

bm_status bm_cl_cache_store(const bm_cl_cache *cache, bm_cl_key key, const void *binary, size_t len,
                            bm_error *err)
{
    if (cache->fd < 0 || len == 0 || len > MAX_ENTRY)
        return BM_OK;
    char name[48], temp[96];
    file_name(cache, key, name);
    XXH128_hash_t sum = XXH3_128bits(binary, len);
    header h = {.key_lo = key.lo, .key_hi = key.hi, .len = len};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    h.sum_lo = sum.low64;
    h.sum_hi = sum.high64;
    /* The address of a local variable distinguishes the threads of a process. */
    snprintf(temp, sizeof temp, ".%s.%ld.%zx", name, (long)getpid(), (size_t)(void *)&h);
    int fd = openat(cache->fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return bm_fail_errno(err, errno, temp, "cannot write the program cache");
    int errnum = bm_pwrite_all(fd, &h, sizeof h, 0);
    if (errnum == 0)
        errnum = bm_pwrite_all(fd, binary, len, sizeof h);
    if (close(fd) != 0 && errnum == 0)
        errnum = errno;
    if (errnum == 0 && renameat(cache->fd, temp, cache->fd, name) != 0)
        errnum = errno;
    if (errnum != 0) {
        unlinkat(cache->fd, temp, 0);
        return bm_fail_errno(err, errnum, name, "cannot write the program cache");
    }
    return BM_OK;
}
