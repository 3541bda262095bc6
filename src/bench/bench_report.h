/* bench_report.h -- the benchmark's figures as JSON. */
#ifndef BM_BENCH_BENCH_REPORT_H
#define BM_BENCH_BENCH_REPORT_H

#include <bandmill/device.h>

#include "bench/bench_answer.h"

typedef struct bm_bench_report {
    const bm_bench_options *options; /* as used */
    const bm_device_info *devices;
    size_t n_devices;
    const bm_bench_row *rows;
    size_t n_rows;
    const bm_bench_job *jobs;
    size_t n_jobs;
    const bm_bench_rates *rates; /* of each device, and of the disk */
    size_t text_bytes, text_docs;
    bool text_made;
} bm_bench_report;

/* One object and a newline: *json is the caller's (bm_string_free). */
bm_status bm_bench_report_write(const bm_bench_report *report, char **json, bm_error *err);

#endif
