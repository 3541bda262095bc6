/* tune_result.h -- what bm_tune came to, and its two forms as text. */
#ifndef BM_TUNE_TUNE_RESULT_H
#define BM_TUNE_TUNE_RESULT_H

#include <bandmill/tune.h>

#include "base/memory.h"

struct bm_tune_result {
    bm_band_options bands; /* what was asked for */
    double ceiling_similarity, ceiling_probability;
    uint32_t perms;
    bm_tune_plan *plans;
    size_t n_plans, chosen;
    char *table, *json;
};

/* Fill in `table` and `json`. */
bm_status bm_tune_write_table(bm_tune_result *result, bm_error *err);
bm_status bm_tune_write_json(bm_tune_result *result, bm_error *err);

#endif
