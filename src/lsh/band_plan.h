/* SPDX-License-Identifier: Apache-2.0 */
/* band_plan.h -- chooses bands and rows (docs/pairing.md). band_plan.c also has the public
 * functions bm_band_probability and bm_band_plan_choose (sketch.h). */
#pragma once

#include <bandmill/sketch.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

/* The options must have been checked. bm_band_perms_of_options returns the number of permutations:
 * `perms` or, if that is 0, bands * rows or the default. bm_band_plan_of_options makes the plan.
 * The plan has the given `bands` and `rows` or, if `bands` is 0, chosen ones. BM_ERR_USAGE: the
 * plan needs more permutations, or no plan reaches the recall with so many. */
uint32_t bm_band_perms_of_options(const bm_band_options *bands, uint32_t perms);
bm_status bm_band_plan_of_options(const bm_band_options *bands, uint32_t perms, bm_band_plan *out,
                                  bm_error *err);

/* plan_list -- lists every band plan that reaches a goal. */

/* The goal of a plan. P is bm_band_probability. */
typedef struct bm_plan_goal {
    double threshold, recall; /* P(threshold) >= recall */
    /* P(ceiling_similarity) <= ceiling_probability; both 0: no ceiling */
    double ceiling_similarity, ceiling_probability;
    uint32_t perms; /* bands * rows <= perms */
} bm_plan_goal;

typedef struct bm_band_shape {
    uint32_t bands, rows;
} bm_band_shape;

typedef struct bm_plan_list {
    bm_band_shape *shapes; /* owned */
    size_t n, cap;
} bm_plan_list; /* {0} is empty */

/* Check a goal. BM_ERR_USAGE: the error names the field that is out of range. */
bm_status bm_plan_goal_check(const bm_plan_goal *wish, bm_error *err);

/* List all plans that reach the goal, cheapest first: by bands * rows, then by bands. BM_NOT_FOUND:
 * no plan reaches the goal. The message names the least number of permutations with which a plan
 * would. BM_ERR_USAGE: as in bm_plan_goal_check. */
bm_status bm_plan_list_make(const bm_plan_goal *wish, bm_plan_list *out, bm_error *err);
void bm_plan_list_reset(bm_plan_list *list);
