/* SPDX-License-Identifier: Apache-2.0 */
/* cl_cache.h -- compiled programs on disk.
 *
 * A cache holds code, so it is trusted only where nobody else can write: a directory of ours, mode
 * 0700, owned by this user, and regular files of ours in it. A file is
 *
 *     "BMCLBIN1" | key, 16 bytes | length, 8 | XXH3-128 of what follows, 16 | the binary
 *
 * named after its key, written to a temporary name and renamed: readers see all of it or nothing.
 * Anything wrong with an entry means that it is not there. Several processes may use one cache. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_cl_key {
    uint64_t lo, hi;
} bm_cl_key;

typedef struct bm_cl_cache {
    int fd;             /* of the directory; -1: no cache */
    const char *ending; /* of its files' names; open sets "clbin" */
} bm_cl_cache;

/* `dir` NULL: $XDG_CACHE_HOME/bandmill or ~/.cache/bandmill; "": none. The files lie in its folder
 * `opencl`, made if need be. A folder that cannot be trusted or made: BM_ERR_IO with the reason,
 * and no cache. */
bm_status bm_cl_cache_open(bm_cl_cache *cache, const char *dir, bm_error *err);
void bm_cl_cache_close(bm_cl_cache *cache);
/* Filled with the directory that `dir` means, ended by NUL; "" for none. */
void bm_cl_cache_dir(const char *dir, char *out, size_t cap);

/* The binary for a key (bm_free), or BM_NOT_FOUND. */
bm_status bm_cl_cache_load(const bm_cl_cache *cache, bm_cl_key key, void **binary, size_t *len,
                           bm_error *err);
bm_status bm_cl_cache_store(const bm_cl_cache *cache, bm_cl_key key, const void *binary, size_t len,
                            bm_error *err);

/* A key is the hash of texts, each with its length. Begin with {0}. */
bm_cl_key bm_cl_key_add(bm_cl_key key, const void *data, size_t len);
