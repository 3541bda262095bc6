/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.h -- one library that takes a compression off, as decompress.c sees it: a table of
 * functions a library, in unpack_NAME.c.
 *
 * A file is a run of *members* (of gzip, streams of xz and bzip2, frames of Zstandard and LZ4),
 * each whole in itself. Where damage is found all bytes that came before it have been given,
 * whatever the sizes of the steps: a file that breaks off is then the same for any batch. If a
 * library loses the output of a call that fails, it gets no more than one block at a time
 * (unpack.c). And all but zlib, which goes symbol by symbol, are given pieces of one size
 * (`pieces`), since what they make of a damaged block depends on what they have. */
#pragma once

#include <stdbool.h>

#include <bandmill/types.h>

#include "input/compression_kinds.h"

/* decompress_step -- one step of taking a compression off: from where to where. */

typedef struct bm_decompress_step {
    bm_str in;
    size_t used; /* of `in`: advanced by each step */
    bool end;    /* nothing comes after `in` */
    char *out;
    size_t out_cap;
    size_t n_out; /* set by each step */
} bm_decompress_step;

typedef enum bm_unpack_got {
    BM_UNPACK_MORE,      /* the member goes on */
    BM_UNPACK_END,       /* it has ended, and all of it was given */
    BM_UNPACK_BROKEN,    /* `why` */
    BM_UNPACK_TOO_LARGE, /* it asks for a window of more than 2^27 bytes */
    BM_UNPACK_NO_MEMORY
} bm_unpack_got;

typedef struct bm_unpacked {
    bm_unpack_got got;
    const char *why; /* BROKEN: in the library's words */
} bm_unpacked;

typedef struct bm_unpack_ops {
    const char *members; /* "member", for messages */
    /* The first byte of each; -1: the library recognises the beginning. */
    int first_byte;
    /* Zeros after a member: so many, and multiples of them, are padding; 0: none are. */
    unsigned padding;
    bool padding_ends; /* nothing follows padding */
    /* Its output before damage depends on how much it has at a time: it reads and writes whole
     * pieces, the last of a file but for the end. */
    bool pieces;
    /* Opens the library too, which need not be there (base/system.h). BM_ERR_NOMEM, BM_ERR_IO. */
    bm_status (*open)(void **state, bm_error *err);
    /* Windows have 2^window_log bytes at most from now on; NULL: there are none to speak of. */
    void (*limit)(void *state, unsigned window_log);
    bool (*reset)(void *state); /* to begin a member, whatever was before; false: no memory */
    /* Read from in.data[used …], write to out[n_out … out_cap-1], move both. At least one byte is
     * read or written where there is input and room, but once in a row. */
    bm_unpacked (*run)(void *state, bm_decompress_step *step);
    void (*close)(void *state); /* NULL is fine */
} bm_unpack_ops;

extern const bm_unpack_ops bm_unpack_gz, bm_unpack_zst, bm_unpack_xz, bm_unpack_bz2, bm_unpack_lz4;

#define BM_WINDOW_LOG_MAX 27

/* window_of -- how much of its output a decoder will hold, found from the first bytes of a file.
 * */

/* Bytes of the window of the first frame of Zstandard, or of the dictionary of the first block of
 * xz; 0: the bytes do not say it, or the compression has a small window whatever it holds. */
uint64_t bm_window_of(bm_compression kind, const char *head, size_t len);
/* Does the compression have windows that files choose? */
bool bm_has_windows(bm_compression kind);

#define BM_WINDOW_MAX (UINT64_C(1) << 27) /* a larger one is refused */
/* A sixteenth of so many MiB of memory has room for the largest that is read. */
#define BM_WINDOW_MEMORY_MIB 2048u
