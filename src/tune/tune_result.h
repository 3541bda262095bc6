/* SPDX-License-Identifier: Apache-2.0 */
/* tune_result.h -- what bm_tune came to, and its two forms as text. */
#pragma once

#include <bandmill/tune.h>

#include "base/memory.h"

/* the sample of one text */
typedef struct bm_tune_documents {
    bm_tune_sample sample; /* points into what follows */
    uint64_t sample_pairs[BM_TUNE_BINS];
    double pairs[BM_TUNE_BINS], pairs_error[BM_TUNE_BINS];
    bm_tune_forecast *forecasts; /* of each plan */
} bm_tune_documents;

/* The similarity at which P is each of these is reported for the chosen plan. */
#define BM_TUNE_STEPS 5u
extern const double bm_tune_steps[BM_TUNE_STEPS];

struct bm_tune_result {
    bm_band_options bands; /* the request */
    double ceiling_similarity, ceiling_probability;
    uint32_t perms;
    bm_tune_plan *plans;
    size_t n_plans, chosen;
    bm_tune_documents *samples; /* one a text */
    size_t n_samples;
    char *table, *json;
};

/* Fill in `table` and `json`. */
bm_status bm_tune_write_table(bm_tune_result *result, bm_error *err);
bm_status bm_tune_write_json(bm_tune_result *result, bm_error *err);
/* A whole SVG document: see tune_write.c. */
bm_status bm_tune_svg(bm_buf *out, const bm_tune_result *result, bm_error *err);
