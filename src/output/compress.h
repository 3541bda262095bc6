/* SPDX-License-Identifier: Apache-2.0 */
/* compress.h -- compression of output files, a buffer at a time: gz and zst in blocks of 4 MiB,
 * whole in themselves, on several threads (compress.h), the others as one stream. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/file_names.h"

/* compress_step -- one step of compressing: from where to where, and by what. */

/* Threads that compress blocks, and the memory for these. */
typedef struct bm_pack_pool bm_pack_pool;

/* The threads and memory that compression may use. Results do not depend on them. */
typedef struct bm_pack_lanes {
    uint32_t threads;   /* the caller's among them; 0 is 1 */
    uint64_t memory;    /* of the whole job, in bytes; blocks may have a small share; 0: no limit */
    bm_pack_pool *pool; /* in place of both, of several files; NULL: a file has one of its own */
} bm_pack_lanes;

/* A pool for files that one thread writes; `many`: it ends some of them (bm_compressor_end) before
 * it closes them. Close those first. */
bm_status bm_pack_pool_open(bm_pack_lanes lanes, bool many, bm_pack_pool **out, bm_error *err);
void bm_pack_pool_close(bm_pack_pool *pool); /* NULL is fine */
/* Do files that are ended have half of the blocks? Then close one. */
bool bm_pack_pool_is_crowded(bm_pack_pool *pool);

typedef struct bm_compress_step {
    bm_str in;       /* the rest to compress: moves on */
    bool part;       /* the block, where there are some, ends with `in` */
    bool end;        /* nothing will come after `in`: the frame is closed */
    char *out;       /* compressed bytes are put at out[len … cap-1]: len grows */
    size_t len, cap; /* len < cap */
    bool done;       /* filled: all of `in` was taken and, with `end`, the frame is closed */
} bm_compress_step;

typedef struct bm_compressor bm_compressor;

/* `compression` is not NONE. `shown` names the file in errors; it is borrowed until close. */
bm_status bm_compressor_open(bm_compression compression, bm_pack_lanes lanes, const char *shown,
                             bm_compressor **out, bm_error *err);
void bm_compressor_close(bm_compressor *compressor); /* NULL is fine */

/* Compress until `out` is full. Call it again, with space in `out`, until step->done. */
bm_status bm_compressor_run(bm_compressor *compressor, bm_compress_step *step, bm_error *err);
/* Only step->end will follow: the threads of the pool compress the gathered blocks meanwhile.
 * False: they have nothing to do. */
bool bm_compressor_end(bm_compressor *compressor);
