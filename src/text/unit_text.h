/* SPDX-License-Identifier: Apache-2.0 */
/* unit_text.h -- documents as joined text with their unit boundaries, for a device that cuts and
 * hashes the shingles itself (model/batches.h). */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/batches.h"
#include "text/shingler.h"

/* Append one document to `batch`, which has the shingler's options. On failure the batch is as
 * before. */
bm_status bm_unit_text_add(bm_shingler *shingler, bm_str text, bm_text_batch *batch, bm_error *err);
/* Append the shingles of a document of `batch` to `out`, as bm_shingler_add would from its text,
 * but out->n_empty and n_short count only documents that were left to the host; the others are
 * counted in `batch`. */
bm_status bm_unit_text_hash(bm_shingler *shingler, const bm_text_batch *batch, size_t doc,
                            bm_shingle_batch *out, bm_error *err);

/* text_units -- a text as the units that make shingles, and the place of each in the text. */

typedef struct bm_text_unit {
    uint64_t hash;   /* of the normalised unit */
    size_t from, to; /* bytes of the text */
} bm_text_unit;

typedef struct bm_text_units {
    bm_text_unit *list; /* owned */
    size_t n, cap;
} bm_text_units; /* {0} is empty */

/* A unit, in order: its number, its normalised bytes, and its place in the text. */
typedef bm_status bm_text_unit_fn(void *ctx, uint64_t number, bm_str bytes, size_t from, size_t to,
                                  bm_error *err);

/* Call back for the units of a text of valid UTF-8, by the options' kind of shingle: words (of a
 * stop word shingle too), code points of normalised text in which a run of White_Space is one,
 * bytes of normalised text. If normalisation merges characters, the unit has the place of all of
 * them. The memory does not grow with the text, unless it can be cut nowhere. BM_ERR_NOMEM,
 * BM_ERR_INPUT, and what `fn` returns but BM_OK. */
bm_status bm_text_units_walk(const bm_text_options *options, bm_str text, bm_text_unit_fn *fn,
                             void *ctx, bm_error *err);
/* The same as a list. */
bm_status bm_text_units_make(const bm_text_options *options, bm_str text, bm_text_units *out,
                             bm_error *err);
void bm_text_units_reset(bm_text_units *units);
