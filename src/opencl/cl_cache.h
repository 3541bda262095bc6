/* SPDX-License-Identifier: Apache-2.0 */
/* cl_cache.h -- compiled programs on disk.
 *
 * A cache has executable code, so it is trusted only if nobody else can write to it: this user must
 * own the directory, its mode must be 0700, and the files in it must be regular files of this user.
 * A file is
 *
 *     "BMCLBIN1" | key, 16 bytes | length, 8 | XXH3-128 of what follows, 16 | the binary
 *
 * It is named after its key. It is written under a temporary name and then renamed, so readers see
 * the whole file or nothing. A defective file counts as missing. Several processes may share a
 * cache. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_cl_key {
    uint64_t lo, hi;
} bm_cl_key;

typedef struct bm_cl_cache {
    int fd;             /* descriptor of the directory; -1: no cache */
    const char *ending; /* ending of the file names; bm_cl_cache_open sets "clbin" */
} bm_cl_cache;

/* Open the cache. Its files are in the folder `opencl` of the directory `dir`. The folder is
 * created if necessary. `dir` NULL: $XDG_CACHE_HOME/bandmill or ~/.cache/bandmill; "": no cache.
 * BM_ERR_IO: the folder cannot be created or trusted, so there is no cache. */
bm_status bm_cl_cache_open(bm_cl_cache *cache, const char *dir, bm_error *err);
void bm_cl_cache_close(bm_cl_cache *cache);
/* Write the path of the directory that `dir` means to `out`, terminated by NUL. "": there is no
 * cache. */
void bm_cl_cache_dir(const char *dir, char *out, size_t cap);

/* Load the binary for a key into *binary. The caller frees it with bm_free. BM_NOT_FOUND: the cache
 * has none. */
bm_status bm_cl_cache_load(const bm_cl_cache *cache, bm_cl_key key, void **binary, size_t *len,
                           bm_error *err);
bm_status bm_cl_cache_store(const bm_cl_cache *cache, bm_cl_key key, const void *binary, size_t len,
                            bm_error *err);

/* Add data and its length to a key. A key begins as {0}. */
bm_cl_key bm_cl_key_add(bm_cl_key key, const void *data, size_t len);
