/* SPDX-License-Identifier: Apache-2.0 */
/* decompress.h -- decompresses a stream of members of any kind (unpack.h).
 *
 * Members may follow one another. Zeros are allowed as padding: with gzip after the last member,
 * with xz after any member in multiples of four. Anything else after a member is an error. A window
 * or dictionary may have at most 2^27 bytes, so a hostile header cannot cause a larger allocation.
 * If a header states the size of the content, that size is not used.
 *
 * One handle serves many files (call begin for each), one thread at a time. */
#pragma once

#include <bandmill/status.h>

#include "input/compression_kinds.h"
#include "input/unpack.h"

typedef struct bm_decompress bm_decompress;

/* Open a decompressor of `kind`, which is not NONE. */
bm_status bm_decompress_open(bm_compression kind, bm_decompress **out, bm_error *err);
/* Limit windows to 2^window_log bytes, if that is less than 2^27 and the compression has windows of
 * different sizes. A larger window is BM_ERR_NOMEM. Call before begin. */
void bm_decompress_limit(bm_decompress *d, unsigned window_log);
/* Begin a new file; `name` (borrowed until the next begin) is for messages. */
void bm_decompress_begin(bm_decompress *d, const char *name);

/* Decompress in.data[used … in.len-1] into at most out_cap bytes at out, until the input or the
 * space is used up. If all input is used and n_out is 0, more input is needed, or, if `end` is set,
 * all output was delivered. Broken data give BM_ERR_INPUT, in this call and all later ones, but
 * only after all bytes before the damage were delivered, whatever the sizes of the steps. */
bm_status bm_decompress_run(bm_decompress *d, bm_decompress_step *step, bm_error *err);
/* Call when a step with `end` has delivered nothing more. BM_ERR_INPUT: the file ended inside a
 * member or its padding, or has no member. */
bm_status bm_decompress_end(const bm_decompress *d, bm_error *err);
void bm_decompress_close(bm_decompress *d); /* NULL is fine */
