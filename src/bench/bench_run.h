/* bench_run.h -- the figures of `bandmill bench`. */
#ifndef BM_BENCH_BENCH_RUN_H
#define BM_BENCH_BENCH_RUN_H

#include <bandmill/bench.h>

struct bm_bench_result {
    bm_bench_row *rows;
    size_t n;
    char *json;
};

/* `options` were checked; `result` is {0}, and is filled on BM_OK. */
bm_status bm_bench_figures(const bm_bench_options *options, bm_bench_result *result, bm_error *err);

#endif
