/* SPDX-License-Identifier: Apache-2.0 */
/* bench_answer.h -- answers these questions of `bench`: How fast are whole jobs over these
 * documents on each device? What limits them? How many cores does a device replace? What does a
 * billion documents cost?
 *
 * The documents are written as JSON Lines, and `sign` and `dedup` run over them on each device,
 * options->repeats times if the time allows. The time of a job is its least time, minus the least
 * time of the same job with one document. The answer also has the seconds that each part of the job
 * would take alone (bm_bench_job.part), computed from rates measured in the same run:
 *
 *     arithmetic   signing the shingles, at the rate for hashes already in the device's memory;
 *                  `dedup` computes only b * r permutations
 *     link         sending (hashes; for `sign`, texts if they are smaller) or receiving,
 *                  whichever takes longer, at the link's rates
 *     host         CPU seconds without the arithmetic, divided by the threads
 *     disk         reading the documents and writing the results, at the disk's rates
 *
 * The longest part bounds the job. If files are in the page cache, a job does not wait for the
 * disk. So if the disk's part is longer than the measured time, it counts as the job's time. */
#pragma once

#include <bandmill/device.h>

#include "bench/bench.h"
#include "bench/bench_work.h"
#include "json/json_write.h"

/* Make a new folder in $TMPDIR (or /tmp) with `name` as part of its name. `path` receives its
 * path. */
#define BM_BENCH_FOLDER_BYTES 4096u
bm_status bm_bench_folder_make(const char *name, char path[BM_BENCH_FOLDER_BYTES], bm_error *err);
/* Remove a folder and everything in it. Only this process may write to it. "" does nothing. Returns
 * the number of bytes in its files. */
double bm_bench_folder_clear(const char *path);

/* Rates of a device and of the machine; 0: unknown, or no time is spent on it. */
typedef struct bm_bench_rates {
    double mshingles_s;           /* rate of the arithmetic, in millions a second */
    double up_mb_s, down_mb_s;    /* rates of the link */
    double read_mb_s, write_mb_s; /* rates of the disk */
    uint32_t threads;             /* threads of the host */
    uint32_t cores; /* host cores that the device's arithmetic uses; 0: the device has processors of
                       its own */
} bm_bench_rates;

/* Run the jobs for options->repeats rounds, or until the clock would pass `until` (0: no such
 * limit). `rates` has one entry for each device; the function fills in the rates of the disk.
 * `jobs` has room for 2 * n jobs. *n_jobs becomes how many were filled in. There are fewer if time
 * runs out before the last devices. */
bm_status bm_bench_answer_run(const bm_bench_options *options, const bm_bench_text *text,
                              const bm_device_info *devices, bm_bench_rates *rates, size_t n,
                              double until, bm_bench_job *jobs, size_t *n_jobs, bm_error *err);

/* Write the paragraph, and a bar for each job. The caller frees *out with bm_string_free. */
bm_status bm_bench_answer_write(const bm_bench_options *options, const bm_bench_job *jobs, size_t n,
                                char **out, bm_error *err);
/* Write the member "answer". */
void bm_bench_answer_json(bm_json *json, const bm_bench_job *jobs, size_t n);
