/* bench_rate.c -- runs on a pool, and their median. See bench_rate.h. */
#include "bench/bench_rate.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

/* A thread's own, a cache line apart. */
typedef struct tally {
    bm_bench_done done;
    double end;
    char apart[64 - sizeof(bm_bench_done) % 64 - sizeof(double)];
} tally;

typedef struct run {
    const bm_bench_plan *plan;
    const bm_bench_work *work;
    double begin;
    tally *tallies;
} run;

static bm_status run_thread(void *ctx, uint32_t thread, bm_error *err)
{
    run *r = ctx;
    if (thread >= r->plan->threads)
        return BM_OK;
    tally *mine = &r->tallies[thread];
    bm_status status = BM_OK;
    do
        status = r->work->work(r->work->ctx, thread, &mine->done, err);
    while (status == BM_OK && bm_clock_seconds() - r->begin < r->plan->min_seconds);
    if (r->work->finish != NULL) { /* after a failure too: nothing may stay under way */
        bm_status last = r->work->finish(r->work->ctx, thread, status == BM_OK ? err : NULL);
        status = status == BM_OK ? last : status;
    }
    mine->end = bm_clock_seconds();
    return status;
}

static bm_status run_once(run *r, double *shingles, double *bytes, bm_error *err)
{
    memset(r->tallies, 0, r->plan->threads * sizeof *r->tallies);
    r->begin = bm_clock_seconds();
    BM_TRY(bm_pool_run(r->plan->pool, run_thread, r, err));
    bm_bench_done sum = {0};
    double end = r->begin;
    for (uint32_t t = 0; t < r->plan->threads; t++) {
        sum.shingles += r->tallies[t].done.shingles;
        sum.bytes += r->tallies[t].done.bytes;
        sum.seconds += r->tallies[t].done.seconds;
        end = r->tallies[t].end > end ? r->tallies[t].end : end;
    }
    double seconds = sum.seconds > 0 ? sum.seconds : end - r->begin;
    *shingles = seconds > 0 ? sum.shingles / seconds * 1e-6 : 0;
    *bytes = seconds > 0 ? sum.bytes / seconds * 1e-6 : 0;
    return BM_OK;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void summarise(double *rates, uint32_t n, bm_bench_rate *out)
{
    if (out == NULL)
        return;
    qsort(rates, n, sizeof *rates, by_value);
    out->median = n % 2 != 0 ? rates[n / 2] : (rates[n / 2 - 1] + rates[n / 2]) / 2;
    out->min = rates[0];
    out->max = rates[n - 1];
}

/* Room for what the runs of a series give: shingles, then bytes; the last place of each is the
 * warm-up's. */
typedef struct found {
    tally *tallies;
    double *rates;
} found;

static bm_status run_series(const bm_bench_series *series, found *into, uint32_t n, uint32_t i,
                            bm_error *err)
{
    const bm_callbacks *calls = series->plan.callbacks;
    const uint32_t at = i == 0 ? n : i - 1;
    run r = {.plan = &series->plan, .work = &series->work, .tallies = into->tallies};
    if (calls != NULL && calls->cancelled != NULL && calls->cancelled(calls->ctx))
        return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
    return run_once(&r, &into->rates[at], &into->rates[n + 1 + at], err);
}

bm_status bm_bench_measure_all(const bm_bench_series *series, size_t n_series, bm_error *err)
{
    const uint32_t n = series[0].plan.repeats;
    bm_status status = BM_OK;
    found *all = NULL;
    BM_TRY(bm_new_zero(&all, n_series, err));
    for (size_t s = 0; s < n_series; s++) {
        all[s].tallies = bm_alloc_aligned(series[s].plan.threads, sizeof *all[s].tallies);
        all[s].rates = bm_alloc((size_t)n * 2 + 2, sizeof *all[s].rates);
        if (all[s].tallies == NULL || all[s].rates == NULL)
            BM_TRY_OUT(bm_fail_nomem(err, series[s].plan.threads * sizeof *all[s].tallies));
    }
    for (uint32_t i = 0; i <= n; i++) {
        for (size_t s = 0; s < n_series; s++)
            BM_TRY_OUT(run_series(&series[s], &all[s], n, i, err));
    }
out:
    for (size_t s = 0; s < n_series; s++) {
        if (status == BM_OK) {
            summarise(all[s].rates, n, series[s].shingles);
            summarise(all[s].rates + n + 1, n, series[s].bytes);
        }
        bm_free(all[s].tallies);
        bm_free(all[s].rates);
    }
    bm_free(all);
    return status;
}

bm_status bm_bench_measure(const bm_bench_plan *plan, const bm_bench_work *work,
                           bm_bench_rate *shingles, bm_bench_rate *bytes, bm_error *err)
{
    const bm_bench_series series = {
        .plan = *plan, .work = *work, .shingles = shingles, .bytes = bytes};
    return bm_bench_measure_all(&series, 1, err);
}
