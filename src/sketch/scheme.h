/* SPDX-License-Identifier: Apache-2.0 */
/* scheme.h -- the table of signature schemes, and calls for any of them. See scheme_row.h for a
 * row. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "sketch/scheme_params.h"
#include "sketch/scheme_row.h"

/* By the word that --scheme takes, or by value. NULL where there is no such scheme. */
const bm_scheme_ops *bm_scheme_find(const char *name);
const bm_scheme_ops *bm_scheme_get(bm_scheme scheme);
/* The rows one after the other, from 0 on; NULL after the last. The first is the default. */
const bm_scheme_ops *bm_scheme_at(size_t i);

/* Draw for options->scheme; BM_ERR_USAGE where there is no such scheme. */
bm_status bm_scheme_draw(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err);
/* Compute the plan of the draws once, to sign many documents. */
bm_status bm_scheme_plan(bm_scheme_params *params, bm_error *err);
/* How many words of a signature must be computed so that the first `wanted` are right: as many, or
 * all where the scheme is no prefix scheme. */
uint32_t bm_scheme_words(const bm_sketch_options *options, uint32_t wanted);

/* BM_ERR_USAGE naming `scheme`: it wants weights and there are none, or the other way round.
 * Whoever signs asks before it opens anything. */
bm_status bm_scheme_weights_check(const bm_sketch_options *options, bool weights, bm_error *err);

/* Keys of one document's bands (scalar reference): `bands` of them, filled. empty: all one bits. */
typedef void bm_band_keys_fn(const void *words, uint32_t bands, uint32_t rows, bool empty,
                             uint64_t *keys);
bm_band_keys_fn bm_band_keys_scalar;                   /* of words of 4 bytes */
bm_band_keys_fn *bm_band_keys_of(uint32_t word_bytes); /* of words of 4 or 8 */

/* As bm_band_keys (sketch.h), whatever the scheme: of n signatures, rows as below. */
typedef struct bm_signed_rows {
    bm_scheme scheme;
    const uint32_t *words;
    size_t n;
} bm_signed_rows;
bm_status bm_signed_rows_keys(const bm_signed_rows *rows, const bm_band_plan *plan, uint64_t *keys,
                              bm_error *err);
