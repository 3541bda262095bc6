/* kernel_tune_report.h -- what `bandmill bench --tune` found on each device, and writing it. */
#ifndef BM_BENCH_KERNEL_TUNE_REPORT_H
#define BM_BENCH_KERNEL_TUNE_REPORT_H

#include "bench/bench.h"
#include "bench/kernel_tune_search.h"

/* A row that was tried. */
typedef struct bm_kernel_tune_tried {
    bm_kernel_params row;
    bm_kernel_tune_score score; /* 0: it cannot be used, */
    char why[160];              /* because */
} bm_kernel_tune_tried;

typedef struct bm_kernel_tune_result {
    bm_device_info info;
    bm_kernel_params present, best;   /* best is named after the device */
    bm_kernel_tune_score before, now; /* of the two, in turns, at the end */
    bool better;                      /* else `best` has the numbers of `present` */
    bm_kernel_tune_tried *tried;
    size_t n_tried, cap_tried, n_failed;
    size_t n_hashes;
} bm_kernel_tune_result;

typedef struct bm_kernel_tune_report {
    const bm_kernel_tune_options *options; /* as used */
    const bm_kernel_tune_result *results;  /* n, one a device */
    size_t n;
} bm_kernel_tune_report;

/* The rows as a file of kernel parameters, and all that was measured as one JSON object: the
 * caller's (bm_string_free). Either may be NULL. */
bm_status bm_kernel_tune_write(const bm_kernel_tune_report *report, char **csv, char **json,
                               bm_error *err);

#endif
