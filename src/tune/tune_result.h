/* SPDX-License-Identifier: Apache-2.0 */
/* tune_result.h -- the result of bm_tune, and its forms as text. */
#pragma once

#include <bandmill/tune.h>

#include "base/memory.h"

/* The sample for one text setting. */
typedef struct bm_tune_documents {
    bm_tune_sample sample; /* points to the arrays below */
    uint64_t sample_pairs[BM_TUNE_BINS];
    double pairs[BM_TUNE_BINS], pairs_error[BM_TUNE_BINS];
    bm_tune_forecast *forecasts; /* for each plan */
} bm_tune_documents;

/* For the chosen plan, the similarities at which P has these values are reported. */
#define BM_TUNE_STEPS 5u
extern const double bm_tune_steps[BM_TUNE_STEPS];

struct bm_tune_result {
    bm_band_options bands; /* as requested */
    double ceiling_similarity, ceiling_probability;
    uint32_t perms;
    bm_tune_plan *plans;
    size_t n_plans, chosen;
    bm_tune_documents *samples; /* one for each text */
    size_t n_samples;
    char *table, *json;
};

/* Fill in `table` and `json`. */
bm_status bm_tune_write_table(bm_tune_result *result, bm_error *err);
bm_status bm_tune_write_json(bm_tune_result *result, bm_error *err);
/* Append a complete SVG document; see tune_write.c. */
bm_status bm_tune_svg(bm_buf *out, const bm_tune_result *result, bm_error *err);
