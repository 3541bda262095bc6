/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.h -- one interface to all decompression libraries, for decompress.c. Each library has a
 * table of functions in unpack.c.
 *
 * A file is a sequence of *members* (members of gzip, streams of xz and bzip2, frames of Zstandard
 * and LZ4), each complete in itself. All bytes before damage are delivered before the error,
 * whatever the sizes of the steps, so a file that breaks off gives the same records for any batch
 * size. A library that does not report the output of a call that fails gets at most one block at a
 * time (unpack.c). And libraries that may deliver more or less of a damaged block, depending on how
 * much input and space they have, get input and space in pieces of one size (`pieces`). */
#pragma once

#include <stdbool.h>

#include <bandmill/types.h>

#include "input/compression_kinds.h"

/* decompress_step -- one step of decompression: its input and its output. */

typedef struct bm_decompress_step {
    bm_str in;
    size_t used; /* bytes of `in` consumed; advanced by each step */
    bool end;    /* nothing comes after `in` */
    char *out;
    size_t out_cap;
    size_t n_out; /* bytes of `out` written; advanced by each step */
} bm_decompress_step;

typedef enum bm_unpack_got {
    BM_UNPACK_MORE,      /* the member goes on */
    BM_UNPACK_END,       /* the member has ended, and all of it was delivered */
    BM_UNPACK_BROKEN,    /* the member is damaged: see `why` */
    BM_UNPACK_TOO_LARGE, /* the member needs a window larger than the limit */
    BM_UNPACK_NO_MEMORY
} bm_unpack_got;

typedef struct bm_unpacked {
    bm_unpack_got got;
    const char *why; /* BROKEN: the library's message */
} bm_unpacked;

typedef struct bm_unpack_ops {
    const char *members; /* "member", for messages */
    /* The first byte of each member; -1: the library recognizes the beginning. */
    int first_byte;
    /* Zeros after a member are padding if their number is a multiple of this; 0: no padding. */
    unsigned padding;
    bool padding_ends; /* no member may follow padding */
    /* True: the library's output before damage depends on how much input it gets at a time, so it
     * gets and fills whole pieces, except the last of a file. */
    bool pieces;
    /* Also opens the library, which may be missing (base/system.h). BM_ERR_NOMEM, BM_ERR_IO. */
    bm_status (*open)(void **state, bm_error *err);
    /* Limit windows to 2^window_log bytes from now on; NULL: the format needs no limit. */
    void (*limit)(void *state, unsigned window_log);
    bool (*reset)(void *state); /* begin a member, even within another; false: no memory */
    /* Read from in.data[used …], write to out[n_out … out_cap-1], and advance `used` and `n_out`.
     * With input and space left, at most one call in a row neither reads nor writes a byte. */
    bm_unpacked (*run)(void *state, bm_decompress_step *step);
    void (*close)(void *state); /* NULL is fine */
} bm_unpack_ops;

extern const bm_unpack_ops bm_unpack_gz, bm_unpack_zst, bm_unpack_xz, bm_unpack_bz2, bm_unpack_lz4;

#define BM_WINDOW_LOG_MAX 27

/* window_of -- reads the window size from a file's first bytes: how much of its output a decoder
 * has to keep in memory. */

/* The window of the first Zstandard frame, or the dictionary of the first xz block, in bytes; 0:
 * the bytes do not state it, or windows of this compression are small. */
uint64_t bm_window_of(bm_compression kind, const char *head, size_t len);
/* Do files choose the window size in this compression? */
bool bm_has_windows(bm_compression kind);

#define BM_WINDOW_MAX (UINT64_C(1) << 27) /* a larger one is refused */
/* MiB of memory with which the largest window is allowed: windows may take a sixteenth of it. */
#define BM_WINDOW_MEMORY_MIB 2048u
