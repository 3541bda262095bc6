/* decompress.h -- taking gzip and Zstandard off a stream, whatever its members or frames.
 *
 * gzip: members one after another; zeros after the last are padding, anything else is an error.
 * zstd: frames one after another, skippable ones too; a window of at most 2^27 bytes, so a hostile
 * header cannot ask for more. Memory does not depend on what the stream says of its size.
 *
 * One handle serves many files (begin for each); one thread at a time. */
#ifndef BM_IO_BYTES_DECOMPRESS_H
#define BM_IO_BYTES_DECOMPRESS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "io/bytes/compression_kinds.h"

typedef struct bm_decompress bm_decompress;

/* A decompressor of `kind`, which is not NONE. */
bm_status bm_decompress_open(bm_compression kind, bm_decompress **out, bm_error *err);
/* Begin a new file, whose `name` (borrowed until the next begin) stands in messages. */
bm_status bm_decompress_begin(bm_decompress *d, const char *name, bm_error *err);

/* One step: from where to where. */
typedef struct bm_decompress_step {
    bm_str in;
    size_t used; /* of `in`: advanced by each step */
    char *out;
    size_t out_cap;
    size_t n_out; /* set by each step */
} bm_decompress_step;

/* Turn some of in.data[used … in.len-1] into at most out_cap bytes at out. n_out 0 with all input
 * used: more input is needed. BM_ERR_INPUT for broken data. */
bm_status bm_decompress_run(bm_decompress *d, bm_decompress_step *step, bm_error *err);
/* The file has ended: BM_ERR_INPUT where a member or frame has not. */
bm_status bm_decompress_end(const bm_decompress *d, bm_error *err);
void bm_decompress_close(bm_decompress *d); /* NULL is fine */

#endif
