/* SPDX-License-Identifier: Apache-2.0 */
/* unit_text.h -- prepares documents for a device that cuts and hashes shingles itself: as joined
 * text with the boundaries of units (model/batches.h). */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/batches.h"
#include "text/shingler.h"

/* Append one document to `batch`, whose options must be those of the shingler. After a failure the
 * batch is unchanged. */
bm_status bm_unit_text_add(bm_shingler *shingler, bm_str text, bm_text_batch *batch, bm_error *err);
/* Append the shingles of document `doc` of `batch` to `out`, as bm_shingler_add would. out->n_empty
 * and out->n_short count the document only if it was left to the host, because `batch` has counted
 * the others. */
bm_status bm_unit_text_hash(bm_shingler *shingler, const bm_text_batch *batch, size_t doc,
                            bm_shingle_batch *out, bm_error *err);

/* text_units -- splits a text into the units of shingles, with their offsets in the text. */

typedef struct bm_text_unit {
    uint64_t hash;   /* hash of the normalised unit */
    size_t from, to; /* bytes from … to-1 of the text */
} bm_text_unit;

typedef struct bm_text_units {
    bm_text_unit *list; /* owned */
    size_t n, cap;
} bm_text_units; /* start with {0} */

/* Receives the units one after another: number, normalised bytes, and offsets in the text. */
typedef bm_status bm_text_unit_fn(void *ctx, uint64_t number, bm_str bytes, size_t from, size_t to,
                                  bm_error *err);

/* Call `fn` for each unit of a text, which must be valid UTF-8. The options' kind of shingle
 * determines the units: words (also for stop word shingles), code points of normalised text (a run
 * of White_Space is one unit), or bytes of normalised text. If normalisation merges characters, a
 * unit covers all of them. Memory does not grow with the text, unless the text cannot be cut
 * anywhere. BM_ERR_NOMEM, BM_ERR_INPUT, and any error of `fn`. */
bm_status bm_text_units_walk(const bm_text_options *options, bm_str text, bm_text_unit_fn *fn,
                             void *ctx, bm_error *err);
/* Make a list of the units of a text. */
bm_status bm_text_units_make(const bm_text_options *options, bm_str text, bm_text_units *out,
                             bm_error *err);
void bm_text_units_reset(bm_text_units *units);
