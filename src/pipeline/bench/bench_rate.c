/* bench_rate.c -- runs on a pool, and their median. See bench_rate.h. */
#include "pipeline/bench/bench_rate.h"

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
    bm_status status = bm_pool_run(r->plan->pool, run_thread, r, err);
    if (status != BM_OK)
        return status;
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

bm_status bm_bench_measure(const bm_bench_plan *plan, const bm_bench_work *work,
                           bm_bench_rate *shingles, bm_bench_rate *bytes, bm_error *err)
{
    uint32_t n = plan->repeats;
    run r = {.plan = plan, .work = work};
    r.tallies = bm_alloc_aligned(plan->threads, sizeof *r.tallies);
    double *rates = bm_alloc((size_t)n * 2 + 2, sizeof *rates); /* shingles, then bytes */
    bm_status status = BM_OK;
    if (r.tallies == NULL || rates == NULL)
        status = bm_fail_nomem(err, plan->threads * sizeof *r.tallies);
    for (uint32_t i = 0; status == BM_OK && i <= n; i++) { /* the last place: the warm-up's */
        const bm_callbacks *calls = plan->callbacks;
        uint32_t at = i == 0 ? n : i - 1;
        if (calls != NULL && calls->cancelled != NULL && calls->cancelled(calls->ctx))
            status = bm_fail(err, BM_ERR_CANCELLED, "interrupted");
        else
            status = run_once(&r, &rates[at], &rates[n + 1 + at], err);
    }
    if (status == BM_OK) {
        summarise(rates, n, shingles);
        summarise(rates + n + 1, n, bytes);
    }
    bm_free(r.tallies);
    bm_free(rates);
    return status;
}
