/* plan_forecast.h -- what each plan would find in the corpus of a census. */
#ifndef BM_TUNE_PLAN_FORECAST_H
#define BM_TUNE_PLAN_FORECAST_H

#include "base/pool.h"
#include "tune/pair_census.h"
#include "tune/tune_result.h"

/* Fill in `to`: the histogram, the pairs at the threshold, and a forecast for each of n plans, which
 * to->forecasts has room for. */
bm_status bm_plan_forecast(const bm_pair_census *census, const bm_tune_result *plans,
                           bm_tune_documents *to, bm_pool *pool, bm_error *err);

#endif
