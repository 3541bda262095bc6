/* SPDX-License-Identifier: Apache-2.0 */
/* remote_provider.h -- the interface to the code that gets bytes from an address: by default
 * libcurl (remote_curl.c). Programs that link the static libbandmill may define
 * bm_remote_provider_find themselves to supply another provider. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

#define BM_REMOTE_SIZE_UNKNOWN UINT64_MAX

/* One page of a list of file names under an address. */
typedef struct bm_remote_page {
    /* where this page begins, as stated in the previous page; NULL: this is the first page */
    const char *after;
    bool after_is_name; /* `after` is a marker of list version 1; false: it is a token */
    /* if `after` is a URL reference: the URL to which it is relative; else NULL */
    const char *base;
    bm_buf body;  /* as sent by the server */
    bm_buf links; /* the values of the answer's Link headers, each followed by a comma */
    bm_buf url;   /* the page's URL, including a NUL */
} bm_remote_page;

/* A request for bytes of a file, for a whole file, or for a page. Bytes of a file are the `len`
 * bytes from offset `at` on, and are written to `out`. A whole file is written to `fd`. */
typedef struct bm_remote_request {
    const char *address;
    uint64_t at;
    size_t len;
    /* receives `len` bytes; NULL: the request is for a whole file or a page */
    char *out;
    int fd;                        /* receives a whole file, if `out` and `page` are NULL */
    bm_remote_page *page;          /* the page requested; NULL: a file is requested */
    const bm_callbacks *callbacks; /* for cancellation; may be NULL */
} bm_remote_request;

/* The contents of the server's answer. */
typedef struct bm_remote_told {
    size_t got;    /* bytes written to `out` */
    uint64_t size; /* size of the file, or BM_REMOTE_SIZE_UNKNOWN */
    /* the server does not send parts of files: `out` has the first bytes of the whole file */
    bool whole;
    /* Hashes of the answer's ETag and Last-Modified date; 0: not sent. A weak ETag may stay the
     * same while bytes change, so the date is compared too. */
    uint64_t etag, date;
    bool etag_is_weak;
    char words[256]; /* the error message, without the address */
} bm_remote_told;

typedef enum bm_remote_answer {
    BM_REMOTE_DONE,   /* all requested bytes arrived, or all up to the end of the file */
    BM_REMOTE_FAILED, /* a retry may succeed */
    /* a retry may succeed: the answer broke off, and the `got` bytes before are right */
    BM_REMOTE_BROKEN,
    BM_REMOTE_REFUSED, /* no retry will succeed */
    BM_REMOTE_STOPPED, /* cancelled by the callbacks */
    BM_REMOTE_NO_MEMORY
} bm_remote_answer;

typedef struct bm_remote_provider {
    bm_status (*begin)(void **connections, bm_error *err);
    void (*end)(void *connections);
    /* Carry out a request. Any thread. On entry *told is all zeros, except told->size, which is
     * BM_REMOTE_SIZE_UNKNOWN. */
    bm_remote_answer (*get)(void *connections, const bm_remote_request *request,
                            bm_remote_told *told);
} bm_remote_provider;

/* Find the provider. If there is none, returns NULL and sets *why to the reason, valid until this
 * thread's next call. Any thread. */
const bm_remote_provider *bm_remote_provider_find(const char **why);
