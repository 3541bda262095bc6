/* plan_list.c -- band plans between a recall and a ceiling.
 *
 * For given rows P rises with the bands, at every similarity. So the plans of these rows are those
 * from the least bands that reach the recall (a quotient of logarithms, settled by P itself:
 * band_plan.h) up to the last that stays below the ceiling, and if the least does not, none does. More
 * rows never need fewer bands, so that the first rows whose least bands stay below the ceiling have
 * the least permutations of all.
 *
 * Pure functions; any thread. Tests: tests/unit/lsh/test_plan_list.c */
#include "lsh/plan_list.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <bandmill/sketch.h>
#include <bandmill/tune.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/band_plan.h"

/* Rows after which the search for the least permutations is given up: thresholds so close to 1, or to
 * the ceiling's similarity, are nobody's. */
#define ROWS_MANY 1000000u

static bool has_ceiling(const bm_plan_wish *wish)
{
    return wish->ceiling_similarity > 0;
}

static bool is_below_ceiling(const bm_plan_wish *wish, uint32_t bands, uint32_t rows)
{
    return !has_ceiling(wish) ||
           bm_band_probability(bands, rows, wish->ceiling_similarity) <= wish->ceiling_probability;
}

bm_status bm_plan_wish_check(const bm_plan_wish *wish, bm_error *err)
{
    const double s = wish->ceiling_similarity, p = wish->ceiling_probability;
    if (!(wish->threshold > 0 && wish->threshold <= 1))
        return bm_fail_field(err, "threshold", "threshold %g (more than 0, at most 1)",
                             wish->threshold);
    if (!(wish->recall > 0 && wish->recall < 1))
        return bm_fail_field(err, "recall", "recall %g (more than 0, less than 1)", wish->recall);
    if (wish->perms == 0 || wish->perms > BM_TUNE_PERMS_MAX)
        return bm_fail_field(err, "perms", "%u permutations (1 to %u)", wish->perms,
                             BM_TUNE_PERMS_MAX);
    if (s == 0 && p == 0)
        return BM_OK;
    if (!(s > 0 && s <= 1))
        return bm_fail_field(err, "ceiling_similarity",
                             "`ceiling_similarity` is %g (more than 0, at most 1)", s);
    if (!(p > 0 && p < 1))
        return bm_fail_field(err, "ceiling_probability",
                             "`ceiling_probability` is %g (more than 0, less than 1)", p);
    return BM_OK;
}

uint64_t bm_plan_least_perms(const bm_plan_wish *wish)
{
    for (uint32_t rows = 1; rows <= ROWS_MANY; rows++) {
        double bands = bm_band_least(rows, wish->threshold, wish->recall);
        if (bands * rows > UINT32_MAX)
            break;
        if (is_below_ceiling(wish, (uint32_t)bands, rows))
            return (uint64_t)bands * rows;
    }
    return 0;
}

static bm_status none(const bm_plan_wish *wish, bm_error *err)
{
    char ceiling[96] = "", least[128], most[48] = "";
    const uint64_t perms = bm_plan_least_perms(wish);
    if (has_ceiling(wish))
        snprintf(ceiling, sizeof ceiling, " and at most %g at %g", wish->ceiling_probability,
                 wish->ceiling_similarity);
    if (perms > BM_PERMS_MAX)
        snprintf(most, sizeof most, ", and a signature has at most %u", BM_PERMS_MAX);
    if (perms == 0)
        snprintf(least, sizeof least, "no number of permutations%s has one",
                 wish->ceiling_similarity < wish->threshold ? " below 2^32" : "");
    else
        snprintf(least, sizeof least, "the least number that has one is %" PRIu64 "%s", perms,
                 most);
    return bm_fail(err, BM_NOT_FOUND,
                   "no plan of at most %u permutations finds a share of %g at the threshold %g%s "
                   "(%s)",
                   wish->perms, wish->recall, wish->threshold, ceiling, least);
}

static int by_cost(const void *x, const void *y)
{
    const bm_band_shape *a = x, *b = y;
    const uint64_t cost_a = (uint64_t)a->bands * a->rows, cost_b = (uint64_t)b->bands * b->rows;
    if (cost_a != cost_b)
        return cost_a < cost_b ? -1 : 1;
    return a->bands < b->bands ? -1 : a->bands > b->bands;
}

bm_status bm_plan_list_make(const bm_plan_wish *wish, bm_plan_list *out, bm_error *err)
{
    bm_plan_list list = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_plan_wish_check(wish, err));
    for (uint32_t rows = 1; rows <= wish->perms; rows++) {
        double least = bm_band_least(rows, wish->threshold, wish->recall);
        if (least > wish->perms / rows)
            break;
        for (uint32_t bands = (uint32_t)least;
             bands <= wish->perms / rows && is_below_ceiling(wish, bands, rows); bands++) {
            BM_TRY_OUT(bm_grow_array(&list.shapes, &list.cap, list.n + 1, err));
            list.shapes[list.n++] = (bm_band_shape){bands, rows};
        }
    }
    if (list.n == 0)
        BM_TRY_OUT(none(wish, err));
out:
    if (status != BM_OK) {
        bm_plan_list_reset(&list);
        return status;
    }
    qsort(list.shapes, list.n, sizeof *list.shapes, by_cost);
    *out = list;
    return BM_OK;
}

void bm_plan_list_reset(bm_plan_list *list)
{
    bm_free(list->shapes);
    *list = (bm_plan_list){0};
}
