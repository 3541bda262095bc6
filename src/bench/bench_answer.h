/* SPDX-License-Identifier: Apache-2.0 */
/* bench_answer.h -- what `bench` is asked: how fast are whole jobs of these documents on each
 * device, what binds them, how many cores does a device replace, and what does a billion documents
 * cost?
 *
 * The documents are written as JSON Lines, and `sign` and `dedup` run over them on each device, as
 * often as the time allows; the least is taken, and what a job of one document takes is taken off.
 * Beside it are the seconds that each part would take alone (bm_bench_job.part), by rates measured
 * in the same run:
 *
 *     arithmetic   shingles, at the rate of resident hashes; `dedup` has b * r permutations
 *     link         what must be sent (the lesser of hashes and texts), or comes back, over the
 *                  link's rate
 *     host         CPU seconds without the arithmetic, over threads
 *     disk         the documents and what the job writes, at the rates of the disk
 *
 * The longest binds. A job in the page cache waits for no disk: where the disk's part is longer
 * than the job took, the job is as fast as the disk. */
#pragma once

#include <bandmill/device.h>

#include "bench/bench.h"
#include "bench/bench_work.h"
#include "json/json_write.h"

/* A folder of its own in $TMPDIR (/tmp), `name` being a part of its name: path to `path`. */
#define BM_BENCH_FOLDER_BYTES 4096u
bm_status bm_bench_folder_make(const char *name, char path[BM_BENCH_FOLDER_BYTES], bm_error *err);
/* Remove a folder that only we write to, with all in it; how many bytes its files had. "": nothing.
 */
double bm_bench_folder_clear(const char *path);

/* Rates of a device and of the machine; 0: not known, or nothing is to be waited for. */
typedef struct bm_bench_rates {
    double mshingles_s;           /* resident hashes, M/s */
    double up_mb_s, down_mb_s;    /* of a link */
    double read_mb_s, write_mb_s; /* of the disk */
    uint32_t threads;             /* of the host */
    uint32_t cores; /* of the host that the device's arithmetic takes; 0: it has its own */
} bm_bench_rates;

/* Run the jobs until the clock shows `until` (0: options->repeats rounds). `rates` has one row for
 * each device; the rates of the disk are filled in, and so are *n_jobs of `jobs`, which has space
 * for 2 * n: devices after the first may be left out. */
bm_status bm_bench_answer_run(const bm_bench_options *options, const bm_bench_text *text,
                              const bm_device_info *devices, bm_bench_rates *rates, size_t n,
                              double until, bm_bench_job *jobs, size_t *n_jobs, bm_error *err);

/* The paragraph, and a bar for each job: *out is the caller's (bm_string_free). */
bm_status bm_bench_answer_write(const bm_bench_options *options, const bm_bench_job *jobs, size_t n,
                                char **out, bm_error *err);
/* The member "answer". */
void bm_bench_answer_json(bm_json *json, const bm_bench_job *jobs, size_t n);
