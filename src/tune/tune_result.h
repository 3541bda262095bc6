/* SPDX-License-Identifier: Apache-2.0 */
/* tune_result.h -- the result of bm_tune, and functions that write it as a table, JSON or SVG. */
#pragma once

#include <bandmill/tune.h>

#include "base/memory.h"

/* The results of the sample for one text setting. */
typedef struct bm_tune_documents {
    bm_tune_sample sample; /* its pointers refer to the arrays below */
    uint64_t sample_pairs[BM_TUNE_BINS];
    double pairs[BM_TUNE_BINS], pairs_error[BM_TUNE_BINS];
    bm_tune_forecast *forecasts; /* one for each plan */
} bm_tune_documents;

/* Probabilities. The result has the similarities at which the curve of the chosen plan reaches
 * them. */
#define BM_TUNE_STEPS 5u
extern const double bm_tune_steps[BM_TUNE_STEPS];

struct bm_tune_result {
    bm_band_options bands; /* as the caller requested them */
    double ceiling_similarity, ceiling_probability;
    uint32_t perms;
    bm_tune_plan *plans;
    size_t n_plans, chosen;     /* `chosen`: the index of the chosen plan */
    bm_tune_documents *samples; /* one for each entry of bm_tune_options.texts */
    size_t n_samples;
    char *table, *json;
};

/* Set result->table. BM_ERR_NOMEM. */
bm_status bm_tune_write_table(bm_tune_result *result, bm_error *err);
/* Set result->json. BM_ERR_NOMEM. */
bm_status bm_tune_write_json(bm_tune_result *result, bm_error *err);
/* Append the result as a complete SVG document, which tune_write.c describes. */
bm_status bm_tune_svg(bm_buf *out, const bm_tune_result *result, bm_error *err);
