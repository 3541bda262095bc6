/* SPDX-License-Identifier: Apache-2.0 */
/* remote_provider.h -- what gets bytes from an address: libcurl (remote_curl.c), but whoever links
 * the static libbandmill may have another definition of bm_remote_provider_find, and with it a
 * provider of its own. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

#define BM_REMOTE_SIZE_UNKNOWN UINT64_MAX

/* One page of the names of files under an address. */
typedef struct bm_remote_page {
    const char *after;  /* what the page before said of the next; NULL: this is the first */
    bool after_is_name; /* `after` is the marker of a store's version 1, and no token */
    const char *base; /* `after` is a reference to a URL, which leads on from this one; else NULL */
    bm_buf body;      /* as the server sends it */
    bm_buf links;     /* the values of its Link headers, each followed by a comma */
    bm_buf url;       /* where it is, ended by a NUL that counts */
} bm_remote_page;

/* Bytes of a file: `len` from `at` on to `out`, or all of it to the descriptor `fd`; or a page. */
typedef struct bm_remote_request {
    const char *address;
    uint64_t at;
    size_t len;
    char *out;                     /* NULL: all of it, to ... */
    int fd;                        /* ... this, or ... */
    bm_remote_page *page;          /* ... here; NULL: it is a file */
    const bm_callbacks *callbacks; /* whether to stop; may be NULL */
} bm_remote_request;

/* What the server said. */
typedef struct bm_remote_told {
    size_t got;    /* bytes that are in `out` */
    uint64_t size; /* of the file; or unknown */
    bool whole;    /* the store gives no parts: `out` has the first bytes of the whole */
    /* Hashes of its ETag and of the date of its last change; 0: it tells none. A weak ETag may stay
     * while bytes change, so the date counts too. */
    uint64_t etag, date;
    bool etag_is_weak;
    char words[256]; /* on what went wrong, without the address */
} bm_remote_told;

typedef enum bm_remote_answer {
    BM_REMOTE_DONE,    /* all bytes that were asked for, or that there are */
    BM_REMOTE_FAILED,  /* another try may do better */
    BM_REMOTE_BROKEN,  /* likewise; the answer began, and `got` bytes of it are right */
    BM_REMOTE_REFUSED, /* no other try does better */
    BM_REMOTE_STOPPED, /* as the callbacks said */
    BM_REMOTE_NO_MEMORY
} bm_remote_answer;

typedef struct bm_remote_provider {
    bm_status (*begin)(void **connections, bm_error *err);
    void (*end)(void *connections);
    /* Any thread. `told` is zeros, but of unknown size, before. */
    bm_remote_answer (*get)(void *connections, const bm_remote_request *request,
                            bm_remote_told *told);
} bm_remote_provider;

/* NULL: there is none, and *why is the reason, until the next call of this thread. Any thread. */
const bm_remote_provider *bm_remote_provider_find(const char **why);
