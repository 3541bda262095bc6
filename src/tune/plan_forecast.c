/* plan_forecast.c -- sums of the census, weighted by curves.
 *
 * All pairs of a cell count with P at the mean of their similarities. A cell is a thousandth wide, and P is
 * nearly straight over it: what its curvature leaves is P''/24 millionths, far below any digit shown. At the
 * threshold cells end, so no pair is on its wrong side.
 *
 * Plans are worked on side by side; each is summed in one order, so digits do not depend on threads.
 *
 * Tests: tests/unit/jobs/test_job_tune.c, tests/reference/test_forecast.py */
#include "tune/plan_forecast.h"

#include <math.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "base/error.h"
#include "base/memory.h"
#include "tune/pair_total.h"

typedef struct forecasting {
    const bm_pair_census *census;
    const bm_tune_result *plans;
    bm_tune_documents *to;
    double **halves; /* of each thread: of each drawn document */
} forecasting;

/* Half of what the pairs of each document add up to, where a pair of cell c in begin … end-1 counts
 * weights[c], or 1 where there are none. */
static void add_halves(const bm_pair_census *census, const double *weights, uint32_t begin,
                       uint32_t end, double *halves)
{
    uint32_t cells[BM_CENSUS_CELLS], n = 0;
    for (uint32_t c = begin; c < end; c++)
        if (census->pairs[c] > 0)
            cells[n++] = c;
    for (size_t i = 0; i < census->n; i++) {
        const uint32_t *seen = census->seen + i * BM_CENSUS_CELLS;
        double sum = 0;
        for (uint32_t k = 0; k < n; k++)
            sum += seen[cells[k]] * (weights != NULL ? weights[cells[k]] : 1);
        halves[i] = sum / 2;
    }
}

static bm_total total_of(const bm_pair_census *census, const double *halves, double most)
{
    return bm_pair_total_rare(halves, census->n, census->n_docs, most);
}

static void forecast_plan(const forecasting *f, const bm_tune_plan *plan, double *halves,
                          bm_tune_forecast *to)
{
    const bm_pair_census *census = f->census;
    const uint32_t at = census->first_at;
    double found[BM_CENSUS_CELLS], missed[BM_CENSUS_CELLS];
    for (uint32_t c = 0; c < BM_CENSUS_CELLS; c++) {
        found[c] = bm_band_probability(plan->bands, plan->rows, census->similarity[c]);
        missed[c] = 1 - found[c];
    }
    add_halves(census, found, 0, BM_CENSUS_CELLS, halves);
    const bm_total candidates = total_of(census, halves, 1);
    add_halves(census, found, at, BM_CENSUS_CELLS, halves);
    const bm_total verified = total_of(census, halves, 1);
    add_halves(census, missed, at, BM_CENSUS_CELLS, halves);
    const bm_total lost = total_of(census, halves, 1 - plan->recall);
    *to = (bm_tune_forecast){candidates.value, candidates.error, verified.value,
                             verified.error,   lost.value,       lost.error};
}

static bm_status forecast_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    const forecasting *f = ctx;
    (void)err;
    for (size_t i = begin; i < end; i++)
        forecast_plan(f, &f->plans->plans[i], f->halves[thread], &f->to->forecasts[i]);
    return BM_OK;
}

/* --- the histogram --- */

/* Half of the pairs of each document that have nothing in common: all that are in no cell. */
static void add_unlike(const bm_pair_census *census, double *halves)
{
    for (size_t i = 0; i < census->n; i++) {
        uint64_t alike = 0;
        for (uint32_t c = 0; c < BM_CENSUS_CELLS; c++)
            alike += census->seen[i * BM_CENSUS_CELLS + c];
        halves[i] += (double)(census->n_docs - 1 - alike) / 2;
    }
}

static void make_histogram(const bm_pair_census *census, double *halves, bm_tune_documents *to)
{
    uint32_t begin = 0;
    for (uint32_t bin = 0; bin < BM_TUNE_BINS; bin++) {
        uint32_t end = begin;
        while (end < BM_CENSUS_CELLS && bm_census_hundredth(census, end) == bin)
            end++;
        add_halves(census, NULL, begin, end, halves);
        if (bin == 0)
            add_unlike(census, halves);
        const bm_total total = total_of(census, halves, 1);
        to->pairs[bin] = total.value;
        to->pairs_error[bin] = total.error;
        begin = end;
    }
    memcpy(to->sample_pairs, census->sample_pairs, sizeof to->sample_pairs);
    add_halves(census, NULL, census->first_at, BM_CENSUS_CELLS, halves);
    const bm_total similar = total_of(census, halves, 1);
    to->sample.similar_pairs = similar.value;
    to->sample.similar_pairs_error = similar.error;
}

bm_status bm_plan_forecast(const bm_pair_census *census, const bm_tune_result *plans,
                           bm_tune_documents *to, bm_pool *pool, bm_error *err)
{
    const uint32_t n_threads = bm_pool_size(pool);
    forecasting f = {.census = census, .plans = plans, .to = to};
    double *room = bm_alloc(n_threads * census->n, sizeof *room);
    bm_status status = BM_OK;
    f.halves = bm_alloc(n_threads, sizeof *f.halves);
    if (room == NULL || f.halves == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n_threads * census->n * sizeof *room));
    for (uint32_t t = 0; t < n_threads; t++)
        f.halves[t] = room + t * census->n;
    make_histogram(census, f.halves[0], to);
    BM_TRY_OUT(bm_pool_for(pool, (bm_pool_split){plans->n_plans, 1}, forecast_range, &f, err));
    const bm_tune_forecast *chosen = &to->forecasts[plans->chosen];
    bm_trials_range(&census->trials, census->n_docs, chosen->candidates, chosen->candidates_error,
                    &to->sample.candidates_low, &to->sample.candidates_high);
out:
    bm_free(f.halves);
    bm_free(room);
    return status;
}
