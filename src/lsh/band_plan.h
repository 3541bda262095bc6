/* band_plan.h -- choosing bands and rows (docs/pairing.md). The public functions of sketch.h,
 * bm_band_probability and bm_band_plan_choose, live in band_plan.c. */
#ifndef BM_LSH_BAND_PLAN_H
#define BM_LSH_BAND_PLAN_H

#include <bandmill/sketch.h>

/* A plan by hand, which `wanted` gives but for its predicted_recall: checks it, and fills that in.
 * BM_ERR_USAGE (such as bands * rows > perms), and `out` is as it was. */
bm_status bm_band_plan_fixed(const bm_band_plan *wanted, bm_band_plan *out, bm_error *err);
/* The least number of bands with P(threshold) >= recall; a value above 2^32 - 1 is approximate, and
 * infinite where threshold^rows is 0 in double. */
double bm_band_least(uint32_t rows, double threshold, double recall);

#endif
