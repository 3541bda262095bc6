/* band_plan.h -- choosing bands and rows (design.md 6). The public functions of sketch.h,
 * bm_band_probability and bm_band_plan_choose, live in band_plan.c. */
#ifndef BM_LSH_BAND_PLAN_H
#define BM_LSH_BAND_PLAN_H

#include <bandmill/sketch.h>

/* A plan by hand: checks bands*rows <= perms, fills predicted_recall. BM_ERR_USAGE. */
bm_status bm_band_plan_fixed(double threshold, double recall, uint32_t perms, uint32_t bands,
                             uint32_t rows, bm_band_plan *out, bm_error *err);

#endif
