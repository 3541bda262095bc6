/* kernel_tune.h -- the search of `bandmill bench --tune`. */
#ifndef BM_BENCH_KERNEL_TUNE_H
#define BM_BENCH_KERNEL_TUNE_H

#include <bandmill/bench.h>

/* bm_kernel_tune, once the options were checked. */
bm_status bm_kernel_tune_measure(const bm_kernel_tune_options *options, char **csv, char **json,
                                 bm_error *err);

#endif
