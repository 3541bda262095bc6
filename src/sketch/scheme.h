/* SPDX-License-Identifier: Apache-2.0 */
/* scheme.h -- the table of signature schemes, and functions that work with any scheme. scheme_row.h
 * explains a row. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "sketch/scheme_params.h"
#include "sketch/scheme_row.h"

/* Find a scheme by its name, as in --scheme, or by its value. NULL: there is no such scheme. */
const bm_scheme_ops *bm_scheme_find(const char *name);
const bm_scheme_ops *bm_scheme_get(bm_scheme scheme);
/* Row i of the table, counted from 0; NULL after the last. The first row is the default scheme. */
const bm_scheme_ops *bm_scheme_at(size_t i);

/* Draw the parameters for options->scheme. BM_ERR_USAGE: there is no such scheme. */
bm_status bm_scheme_draw(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err);
/* If the scheme has a plan, which speeds up signing many documents, compute params->plan. */
bm_status bm_scheme_plan(bm_scheme_params *params, bm_error *err);
/* How many words of a signature must be computed so that its first `wanted` words are right. This
 * is `wanted`, or the number of all words if the scheme has no `prefix`. */
uint32_t bm_scheme_words(const bm_sketch_options *options, uint32_t wanted);

/* Check that documents have weights if the scheme needs them, and have none if it does not.
 * BM_ERR_USAGE otherwise; the message names `scheme`. Code that signs calls this before it opens
 * anything. */
bm_status bm_scheme_weights_check(const bm_sketch_options *options, bool weights, bm_error *err);

/* Fill `keys` with the keys of the `bands` bands of one document (scalar reference). If the
 * document is `empty`, all its keys are BM_NO_BAND_KEY. */
typedef void bm_band_keys_fn(const void *words, uint32_t bands, uint32_t rows, bool empty,
                             uint64_t *keys);
bm_band_keys_fn bm_band_keys_scalar;                   /* for words of 4 bytes */
bm_band_keys_fn *bm_band_keys_of(uint32_t word_bytes); /* for words of word_bytes bytes: 4 or 8 */

/* n signatures of any scheme. Their keys are made as by bm_band_keys (sketch.h). */
typedef struct bm_signed_rows {
    bm_scheme scheme;
    const uint32_t *words;
    size_t n;
} bm_signed_rows;
bm_status bm_signed_rows_keys(const bm_signed_rows *rows, const bm_band_plan *plan, uint64_t *keys,
                              bm_error *err);
