/* SPDX-License-Identifier: Apache-2.0 */
/* decompress.h -- taking a compression off a stream, whatever its members (unpack.h).
 *
 * Members may follow one another. Zeros after the last are padding for gzip; for xz after any, in
 * multiples of four. All else after a member is an error. A window or dictionary has at most 2^27
 * bytes, so a hostile header cannot ask for more; memory does not depend on the size that the
 * stream states.
 *
 * One handle serves many files (begin for each); one thread at a time. */
#pragma once

#include <bandmill/status.h>

#include "input/compression_kinds.h"
#include "input/unpack.h"

typedef struct bm_decompress bm_decompress;

/* A decompressor of `kind`, which is not NONE. */
bm_status bm_decompress_open(bm_compression kind, bm_decompress **out, bm_error *err);
/* Windows have 2^log bytes at most, and not 2^27: what asks for more is BM_ERR_NOMEM. Before begin.
 */
void bm_decompress_limit(bm_decompress *d, unsigned window_log);
/* Begin a new file; its `name` (borrowed until the next begin) is in messages. */
void bm_decompress_begin(bm_decompress *d, const char *name);

/* Turn in.data[used … in.len-1] into at most out_cap bytes at out, until one of them is used up.
 * n_out 0 with all input used: more input is needed, or with `end` there is none. BM_ERR_INPUT for
 * broken data, in this call and in all later ones, once all bytes before the damage were given:
 * that is the same whatever the sizes of the steps. */
bm_status bm_decompress_run(bm_decompress *d, bm_decompress_step *step, bm_error *err);
/* The file has ended, and a step with `end` has given nothing more: BM_ERR_INPUT where a member has
 * not. */
bm_status bm_decompress_end(const bm_decompress *d, bm_error *err);
void bm_decompress_close(bm_decompress *d); /* NULL is fine */
