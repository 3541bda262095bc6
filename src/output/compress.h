/* SPDX-License-Identifier: Apache-2.0 */
/* compress.h -- compression of output files, a buffer at a time: gz and zst in blocks of 4 MiB,
 * complete in themselves, on several threads; other formats as one stream. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/file_names.h"

/* compress_step -- one step of compression: its input, its output space, and its compressor. */

/* The threads that compress blocks, and the memory for the blocks. */
typedef struct bm_pack_pool bm_pack_pool;

/* The threads and memory that compression may use. Results do not depend on them. */
typedef struct bm_pack_lanes {
    uint32_t threads;   /* including the caller's; 0 means 1 */
    uint64_t memory;    /* bytes of the whole job; blocks take a small share; 0: no limit */
    bm_pack_pool *pool; /* a pool that several files share, used instead of the two members above;
                         * NULL: each file has its own */
} bm_pack_lanes;

/* Open a pool for files that one thread writes. `many`: files may be ended (bm_compressor_end) some
 * time before they are closed. Close the files before the pool. */
bm_status bm_pack_pool_open(bm_pack_lanes lanes, bool many, bm_pack_pool **out, bm_error *err);
void bm_pack_pool_close(bm_pack_pool *pool); /* NULL is fine */
/* Do ended files hold more than half of the blocks? Then close one. */
bool bm_pack_pool_is_crowded(bm_pack_pool *pool);

typedef struct bm_compress_step {
    bm_str in;       /* the input left to compress; moves on */
    bool part;       /* end the current block at the end of `in`, if there are blocks */
    bool end;        /* nothing follows `in`: close the frame */
    char *out;       /* compressed bytes go to out[len … cap-1]; len grows */
    size_t len, cap; /* len < cap */
    bool done;       /* filled: all of `in` was taken and, if `end`, the frame is closed */
} bm_compress_step;

typedef struct bm_compressor bm_compressor;

/* Begin to compress a file; `compression` is not NONE. `shown` names the file in errors; it is
 * borrowed until close. */
bm_status bm_compressor_open(bm_compression compression, bm_pack_lanes lanes, const char *shown,
                             bm_compressor **out, bm_error *err);
void bm_compressor_close(bm_compressor *compressor); /* NULL is fine */

/* Compress until `out` is full. Call it again, with space in `out`, until step->done. */
bm_status bm_compressor_run(bm_compressor *compressor, bm_compress_step *step, bm_error *err);
/* Call it when only steps with `end` will follow: meanwhile the pool's threads compress the
 * gathered blocks. False: no block is left, or the pool has no threads. */
bool bm_compressor_end(bm_compressor *compressor);
