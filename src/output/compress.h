/* SPDX-License-Identifier: Apache-2.0 */
/* compress.h -- compresses output files, a buffer at a time. gz and zst are compressed on several
 * threads, in blocks of 4 MiB that are complete in themselves. Other formats are compressed as one
 * stream. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/file_names.h"

/* compress_step -- one step of compression: its input, the space for its output, and the
 * compressor. */

/* The threads that compress blocks, and the memory for the blocks. */
typedef struct bm_pack_pool bm_pack_pool;

/* The threads and memory that compression may use. Results do not depend on them. */
typedef struct bm_pack_lanes {
    uint32_t threads; /* including the caller's; 0 means 1 */
    /* memory limit of the whole job, of which blocks may use a small share; 0: no limit */
    uint64_t memory;
    /* A pool that several files share; `threads` and `memory` are then not used. NULL: each file
     * has a pool of its own. */
    bm_pack_pool *pool;
} bm_pack_lanes;

/* Open a pool for files that are written by one thread. Set `many` if files may be ended
 * (bm_compressor_end) long before they are closed; the pool then gets more blocks. Close the files
 * before the pool. */
bm_status bm_pack_pool_open(bm_pack_lanes lanes, bool many, bm_pack_pool **out, bm_error *err);
void bm_pack_pool_close(bm_pack_pool *pool); /* NULL is fine */
/* Do ended files occupy more than half of the blocks? Then the caller should close one of them. */
bool bm_pack_pool_is_crowded(bm_pack_pool *pool);

typedef struct bm_compress_step {
    bm_str in;       /* the input not read yet; each call advances it */
    bool part;       /* gz and zst: end the current block at the end of `in` */
    bool end;        /* no bytes come after `in`, so the frame is closed */
    char *out;       /* compressed bytes are written to out[len … cap-1], and len grows */
    size_t len, cap; /* len < cap */
    bool done;       /* set by the call: all of `in` was read and, if `end`, the frame is closed */
} bm_compress_step;

typedef struct bm_compressor bm_compressor;

/* Begin to compress a file; `compression` is not NONE. `shown` names the file in errors; it is
 * borrowed until close. */
bm_status bm_compressor_open(bm_compression compression, bm_pack_lanes lanes, const char *shown,
                             bm_compressor **out, bm_error *err);
void bm_compressor_close(bm_compressor *compressor); /* NULL is fine */

/* Compress until step->out is full or step->done is set. Make space in step->out and call again,
 * until step->done is set. */
bm_status bm_compressor_run(bm_compressor *compressor, bm_compress_step *step, bm_error *err);
/* Announce that all later steps have `end`. Returns true if the pool's threads now compress blocks
 * of this file. Returns false if no block is left, if the pool has no threads, or if the file is
 * compressed as one stream. */
bool bm_compressor_end(bm_compressor *compressor);
