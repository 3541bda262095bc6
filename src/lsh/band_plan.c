/* SPDX-License-Identifier: Apache-2.0 */
/* band_plan.c -- chooses bands and rows for a threshold and a recall (docs/pairing.md).
 *
 * Two documents of similarity s agree in one band of r rows with probability s^r, and in at least
 * one of b bands with probability P = 1 - (1 - s^r)^b. P is computed as -expm1(b * log1p(-s^r)).
 * This form keeps its digits even if s^r is so small, like 1e-17, that 1 - s^r rounds to 1.
 *
 * For given rows, a quotient of logarithms estimates the least number of bands. P itself then
 * corrects the estimate, so that "reaches the recall" means the same everywhere. More rows never
 * need fewer bands, so the plan of fewest permutations has one row.
 *
 * Pure functions; any thread.
 *
 * Tests: tests/reference/test_tune.py, tests/unit/lsh/test_band_curve.c,
 *        tests/unit/lsh/test_band_plan.c */
#include "lsh/band_plan.h"

#include <bandmill/sketch.h>
#include <bandmill/tune.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"

/* === band curve ===
 *
 * The shape of P(s) = 1 - (1 - s^r)^b: its slope, and where the slope is greatest.
 *
 * P'(s) = b r s^(r-1) (1 - s^r)^(b-1), and P''(s) = 0 where (r - 1)(1 - s^r) = (b - 1) r s^r, which
 * is s^r = (r - 1) / (b r - 1) = (1 - 1/r) / (b - 1/r). P' is computed from its logarithm, which is
 * a sum, so no factor under- or overflows before P' itself does.
 *
 * The inverse of P is s^r = 1 - (1 - p)^(1/b) = -expm1(log1p(-p) / b), which keeps its digits for
 * small p and for many bands.
 *
 * Pure functions; any thread. Tests: tests/unit/lsh/test_band_curve.c */

double bm_band_slope(uint32_t bands, uint32_t rows, double similarity)
{
    const double b = bands, r = rows, s = similarity;
    if (isnan(s) || bands == 0 || rows == 0 || s < 0 || s > 1)
        return isnan(s) ? s : 0;
    if (s <= 0)
        return rows == 1 ? b : 0;
    const double agree = pow(s, r);
    if (agree >= 1)
        return bands == 1 ? r : 0;
    return exp(log(b) + log(r) + (r - 1) * log(s) + (b - 1) * log1p(-agree));
}

double bm_band_steepest(uint32_t bands, uint32_t rows)
{
    const double b = bands, r = rows;
    if (bands == 0 || rows <= 1)
        return 0;
    return bands == 1 ? 1 : pow((r - 1) / (b * r - 1), 1 / r);
}

double bm_band_steepest_about(uint32_t bands, uint32_t rows)
{
    return bands == 0 || rows == 0 ? 0 : pow(bands, -1.0 / rows);
}

double bm_band_similarity(uint32_t bands, uint32_t rows, double probability)
{
    if (bands == 0 || rows == 0 || !(probability >= 0 && probability <= 1))
        return NAN;
    return pow(-expm1(log1p(-probability) / bands), 1.0 / rows);
}

/* In messages, numbers of bands above this are rounded. */
#define BANDS_MANY 1e15

double bm_band_probability(uint32_t bands, uint32_t rows, double similarity)
{
    if (isnan(similarity))
        return similarity;
    if (bands == 0 || similarity <= 0)
        return bands != 0 && rows == 0 ? 1 : 0;
    double agree = similarity >= 1 ? 1 : pow(similarity, rows);
    return -expm1(bands * log1p(-agree));
}

/* Return the least number of bands with P(threshold) >= recall. Values above 2^32 - 1 are
 * approximate. Infinite if threshold^rows is 0 in double. */
static double band_least(uint32_t rows, double threshold, double recall)
{
    double agree = pow(threshold, rows);
    if (agree == 0)
        return INFINITY;
    double bands = agree >= 1 ? 1 : ceil(log1p(-recall) / log1p(-agree));
    if (bands > UINT32_MAX - 1.0)
        return bands;
    uint32_t b = bands < 1 ? 1 : (uint32_t)bands;
    while (b > 1 && bm_band_probability(b - 1, rows, threshold) >= recall)
        b--;
    while (bm_band_probability(b, rows, threshold) < recall)
        b++;
    return b;
}

static bm_status check(double threshold, double recall, uint32_t perms, bm_error *err)
{
    if (!(threshold > 0 && threshold <= 1))
        return bm_fail_field(err, "threshold", "threshold %g is out of range (above 0, at most 1)",
                             threshold);
    if (!(recall > 0 && recall < 1))
        return bm_fail_field(err, "recall", "recall %g is out of range (above 0, below 1)", recall);
    if (perms == 0 || perms > BM_PERMS_MAX)
        return bm_fail_field(err, "perms", "%u permutations are out of range (1 to %u)", perms,
                             BM_PERMS_MAX);
    return BM_OK;
}

static bm_status no_plan(double threshold, double recall, uint32_t perms, bm_error *err)
{
    double least = band_least(1, threshold, recall);
    const char *limit = least > BM_PERMS_MAX ? ", more than a signature may have" : "";
    return bm_fail_field(
        err, "perms",
        "%u permutations cannot reach recall %g at threshold %g (at least %.*g are "
        "needed%s)",
        perms, recall, threshold, least > BANDS_MANY ? 3 : 16, least, limit);
}

/* Check the plan `wanted`. Set *out to this plan, with predicted_recall filled in. BM_ERR_USAGE:
 * the plan is impossible, for example bands * rows > perms. *out is then unchanged. */
static bm_status band_plan_fixed(const bm_band_plan *wanted, bm_band_plan *out, bm_error *err)
{
    uint32_t bands = wanted->bands, rows = wanted->rows, perms = wanted->perms;
    BM_TRY(check(wanted->threshold, wanted->recall, perms, err));
    if (bands == 0 || rows == 0)
        return bm_fail_field(err, "bands", "%u bands of %u rows (at least 1 of each)", bands, rows);
    if ((uint64_t)bands * rows > perms)
        return bm_fail_field(err, "bands",
                             "%u bands of %u rows need %llu permutations (there are %u)", bands,
                             rows, (unsigned long long)bands * rows, perms);
    double predicted = bm_band_probability(bands, rows, wanted->threshold);
    *out = *wanted;
    out->predicted_recall = predicted;
    return BM_OK;
}

bm_status bm_band_plan_choose(double threshold, double recall, uint32_t perms, bm_band_plan *out,
                              bm_error *err)
{
    bm_band_plan plan = {.perms = perms, .threshold = threshold, .recall = recall};
    BM_TRY(check(threshold, recall, perms, err));
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the plan given");
    for (plan.rows = perms; plan.rows > 0; plan.rows--) {
        double bands = band_least(plan.rows, threshold, recall);
        if (bands > perms / plan.rows)
            continue;
        plan.bands = (uint32_t)bands;
        return band_plan_fixed(&plan, out, err);
    }
    return no_plan(threshold, recall, perms, err);
}

uint32_t bm_band_perms_of_options(const bm_band_options *bands, uint32_t perms)
{
    if (perms != 0)
        return perms;
    return bands->bands != 0 ? bands->bands * bands->rows : BM_PERMS_DEFAULT;
}

bm_status bm_band_plan_of_options(const bm_band_options *bands, uint32_t perms, bm_band_plan *out,
                                  bm_error *err)
{
    perms = bm_band_perms_of_options(bands, perms);
    if (bands->bands == 0)
        return bm_band_plan_choose(bands->threshold, bands->recall, perms, out, err);
    const bm_band_plan wanted = {.perms = perms,
                                 .bands = bands->bands,
                                 .rows = bands->rows,
                                 .threshold = bands->threshold,
                                 .recall = bands->recall};
    return band_plan_fixed(&wanted, out, err);
}

/* === plan list ===
 *
 * Band plans that reach a recall and stay below a ceiling.
 *
 * For a given number of rows, P rises with the number of bands at every similarity. So the possible
 * numbers of bands are all from the least that reaches the recall (band_least) to the most that
 * stays below the ceiling. If the least exceeds the ceiling, no plan has this number of rows. More
 * rows never need fewer bands. So the plan of fewest permutations has the smallest number of rows
 * that is possible, and the least number of bands for these rows.
 *
 * Pure functions; any thread. Tests: tests/reference/test_tune.py */

/* The search for the fewest permutations ends after this many rows. More rows are needed only for
 * thresholds extremely close to 1, or to the ceiling's similarity. */
#define ROWS_MANY 1000000u

static bool has_ceiling(const bm_plan_goal *wish)
{
    return wish->ceiling_similarity > 0;
}

static bool is_below_ceiling(const bm_plan_goal *wish, uint32_t bands, uint32_t rows)
{
    return !has_ceiling(wish) ||
           bm_band_probability(bands, rows, wish->ceiling_similarity) <= wish->ceiling_probability;
}

bm_status bm_plan_goal_check(const bm_plan_goal *wish, bm_error *err)
{
    const double s = wish->ceiling_similarity, p = wish->ceiling_probability;
    if (!(wish->threshold > 0 && wish->threshold <= 1))
        return bm_fail_field(err, "threshold", "threshold %g (more than 0, at most 1)",
                             wish->threshold);
    if (!(wish->recall > 0 && wish->recall < 1))
        return bm_fail_field(err, "recall", "`recall` %g (more than 0, less than 1)", wish->recall);
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

/* Return the least bands * rows of a plan that reaches the goal, without the limit wish->perms. 0:
 * no plan below 2^32 was found. */
static uint64_t plan_least_perms(const bm_plan_goal *wish)
{
    for (uint32_t rows = 1; rows <= ROWS_MANY; rows++) {
        double bands = band_least(rows, wish->threshold, wish->recall);
        if (bands * rows > UINT32_MAX)
            break;
        if (is_below_ceiling(wish, (uint32_t)bands, rows))
            return (uint64_t)bands * rows;
    }
    return 0;
}

static bm_status none(const bm_plan_goal *wish, bm_error *err)
{
    char ceiling[96] = "", least[128], most[48] = "";
    const uint64_t perms = plan_least_perms(wish);
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

bm_status bm_plan_list_make(const bm_plan_goal *wish, bm_plan_list *out, bm_error *err)
{
    bm_plan_list list = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_plan_goal_check(wish, err));
    for (uint32_t rows = 1; rows <= wish->perms; rows++) {
        double least = band_least(rows, wish->threshold, wish->recall);
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
