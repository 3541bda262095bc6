/* bench_rate.h -- how often something can be done in a second, on several threads.
 *
 * A measurement is one warm-up and `repeats` runs. In a run every thread repeats its work until
 * min_seconds have passed, then work under way is finished; the rate of the run is what was done
 * over the time until the last thread ended. The figures are median, least and greatest of the
 * runs. */
#ifndef BM_BENCH_BENCH_RATE_H
#define BM_BENCH_BENCH_RATE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/pool.h"

/* What one call of `work` did, added up over calls and threads. */
typedef struct bm_bench_done {
    double shingles, bytes;
    double seconds; /* 0: the wall clock counts; else seconds of the device's own clock */
} bm_bench_done;

typedef struct bm_bench_work {
    void *ctx;
    /* Some of the work, on one thread; adds to *done. */
    bm_status (*work)(void *ctx, uint32_t thread, bm_bench_done *done, bm_error *err);
    /* Wait for what this thread left under way; NULL: nothing can be. */
    bm_status (*finish)(void *ctx, uint32_t thread, bm_error *err);
} bm_bench_work;

typedef struct bm_bench_plan {
    bm_pool *pool;
    uint32_t threads; /* that work; at most the pool's */
    uint32_t repeats;
    double min_seconds;
    const bm_callbacks *callbacks; /* asked between runs whether to go on; NULL: none */
} bm_bench_plan;

typedef struct bm_bench_rate {
    double median, min, max;
} bm_bench_rate;

/* One thing to measure. Either rate, in millions a second, may be NULL. */
typedef struct bm_bench_series {
    bm_bench_plan plan;
    bm_bench_work work;
    bm_bench_rate *shingles, *bytes; /* filled */
} bm_bench_series;

/* Run by run in turns, so that what disturbs the machine for a while disturbs all of them; repeats are
 * those of the first. BM_ERR_CANCELLED, or what `work` answered. */
bm_status bm_bench_measure_all(const bm_bench_series *series, size_t n, bm_error *err);
/* One alone. */
bm_status bm_bench_measure(const bm_bench_plan *plan, const bm_bench_work *work,
                           bm_bench_rate *shingles, bm_bench_rate *bytes, bm_error *err);

#endif
