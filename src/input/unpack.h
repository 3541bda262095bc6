/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.h -- one interface to all decompression libraries, for decompress.c. Each library has a
 * table of functions in unpack.c.
 *
 * A file is a sequence of *members* (members of gzip, streams of xz and bzip2, frames of Zstandard
 * and LZ4), each complete in itself. All bytes before damage are delivered before the error,
 * whatever the sizes of the steps, so a file that breaks off gives the same records for any batch
 * size. Some libraries do not report the output of a failed call. They get at most one block at a
 * time (unpack.c). Others deliver more or less of a damaged block, depending on the size of their
 * input and of their output space. They get both in pieces of one size (`pieces`). */
#pragma once

#include <stdbool.h>

#include <bandmill/types.h>

#include "input/compression_kinds.h"

/* decompress_step -- one step of decompression: its input and its output. */

typedef struct bm_decompress_step {
    bm_str in;
    size_t used; /* bytes of `in` consumed; each step increases it */
    bool end;    /* no bytes come after `in` */
    char *out;
    size_t out_cap;
    size_t n_out; /* bytes of `out` written; each step increases it */
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
    /* True: how much the library delivers before damage depends on how much input it gets at a
     * time. So its input and output are whole pieces, except the last of a file. */
    bool pieces;
    /* Also opens the library, which may be missing (base/system.h). BM_ERR_NOMEM, BM_ERR_IO. */
    bm_status (*open)(void **state, bm_error *err);
    /* Limit windows to 2^window_log bytes from now on; NULL: the format needs no limit. */
    void (*limit)(void *state, unsigned window_log);
    /* begin a member, even if the one before has not ended; false: no memory */
    bool (*reset)(void *state);
    /* Read from in.data[used …], write to out[n_out … out_cap-1], and advance `used` and
     * `n_out`. While input and space are left, at least one of two successive calls reads or writes
     * a byte. */
    bm_unpacked (*run)(void *state, bm_decompress_step *step);
    void (*close)(void *state); /* NULL is fine */
} bm_unpack_ops;

extern const bm_unpack_ops bm_unpack_gz, bm_unpack_zst, bm_unpack_xz, bm_unpack_bz2, bm_unpack_lz4;

#define BM_WINDOW_LOG_MAX 27

/* window_of -- finds the window size in a file's first bytes. A decoder has to keep that many bytes
 * of its output in memory. */

/* The window of the first Zstandard frame, or the dictionary of the first xz block, in bytes; 0:
 * the bytes do not state it, or windows of this compression are small. */
uint64_t bm_window_of(bm_compression kind, const char *head, size_t len);
/* Do files choose the window size in this compression? */
bool bm_has_windows(bm_compression kind);

#define BM_WINDOW_MAX (UINT64_C(1) << 27) /* a larger one is refused */
/* From this many MiB of memory on, the largest window is allowed, because windows may take a
 * sixteenth of the memory. */
#define BM_WINDOW_MEMORY_MIB 2048u
