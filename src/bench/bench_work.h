/* SPDX-License-Identifier: Apache-2.0 */
/* bench_work.h -- does the work that the benchmark repeats on one device.
 *
 * Like a job, a bench_device has a backend and, for each thread, a shingler and slots. Each slot
 * has a batch, and room for its words. While the device signs one slot, the thread fills the next.
 * If the backend is not parallel, several threads share it: a mutex serialises their calls, and at
 * most backend->depth tasks are under way. */
#pragma once

#include <pthread.h>

#include <bandmill/device.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "base/threads.h"
#include "bench/bench.h"
#include "cpu/sign_loops_row.h"
#include "model/backend.h"
#include "model/batches.h"
#include "text/shingler.h"

/* bench_text -- the texts that the benchmark shingles and signs. They come from files, or are
 * generated. */

/* Reading files stops at this many bytes of text: more than fits into any cache. */
#define BM_BENCH_TEXT_MAX ((size_t)256 << 20)

typedef struct bm_bench_text {
    bm_buf bytes;    /* the documents, one after another */
    uint64_t *begin; /* n + 1 offsets */
    size_t n, cap;
    bool made;     /* generated */
    bm_buf common; /* if generated: the commonest words, as a list of stop words; else empty */
} bm_bench_text;   /* {0} is empty */

/* Read the documents of `paths`, in any format that jobs read. If there are no paths, generate 32
 * MB of words from a fixed seed, with frequencies and lengths like those of English. `callbacks`
 * can cancel, and may be NULL. BM_ERR_INPUT: a bad record, or no text. BM_ERR_CANCELLED. */
bm_status bm_bench_text_open(const char *const *paths, size_t n_paths,
                             const bm_callbacks *callbacks, bm_bench_text *out, bm_error *err);
/* Generate 16 MB of documents from a fixed seed: one third each in Latin letters with accents, in
 * Greek, and in Chinese without spaces. */
bm_status bm_bench_text_foreign(bm_bench_text *out, bm_error *err);
void bm_bench_text_reset(bm_bench_text *text);

static inline bm_str bm_bench_text_get(const bm_bench_text *text, size_t i)
{
    return (bm_str){text->bytes.data + text->begin[i],
                    (size_t)(text->begin[i + 1] - text->begin[i])};
}

/* bench_rate -- how much work is done per second, on several threads.
 *
 * A measurement is one warm-up and `repeats` runs. In a run every thread repeats its work until
 * min_seconds have passed, and then finishes its tasks in progress. The rate of the run is the work
 * done, divided by the time until the last thread ended. The figures are the median, minimum and
 * maximum over the runs. */

/* Work done, summed over calls and threads. */
typedef struct bm_bench_done {
    double shingles, bytes;
    double seconds; /* time by the device's own clock; 0: use the wall clock */
} bm_bench_done;

typedef struct bm_bench_work {
    void *ctx;
    /* Do some of the work, on one thread, and add it to *done. */
    bm_status (*work)(void *ctx, uint32_t thread, bm_bench_done *done, bm_error *err);
    /* Wait for the tasks of this thread that are still in progress. NULL: no task ever is. */
    bm_status (*finish)(void *ctx, uint32_t thread, bm_error *err);
} bm_bench_work;

typedef struct bm_bench_plan {
    bm_pool *pool;
    uint32_t threads; /* threads that work; at most the pool's */
    uint32_t repeats;
    double min_seconds;
    const bm_callbacks *callbacks; /* `cancelled` is called before each run; NULL: none */
} bm_bench_plan;

typedef struct bm_bench_rate {
    double median, min, max;
} bm_bench_rate;

/* One measurement. Each rate, in millions per second, may be NULL. */
typedef struct bm_bench_series {
    bm_bench_plan plan;
    bm_bench_work work;
    bm_bench_rate *shingles, *bytes; /* filled in */
} bm_bench_series;

/* Measure several series alternately, one run of each at a time, so that a disturbance of the
 * machine affects all of them. The first series sets the number of repeats. Returns
 * BM_ERR_CANCELLED, or the error of `work`. */
bm_status bm_bench_measure_all(const bm_bench_series *series, size_t n, bm_error *err);
/* Measure one series. */
bm_status bm_bench_measure(const bm_bench_plan *plan, const bm_bench_work *work,
                           bm_bench_rate *shingles, bm_bench_rate *bytes, bm_error *err);

#define BM_BENCH_SLOTS     2u /* slots of a thread: one is filled while the other is signed */
#define BM_BENCH_DEPTH_MAX 8u
#define BM_BENCH_DOC       118u /* hashes in a document: the mean of real texts in word:5 */

typedef struct bm_bench_slot {
    bm_shingle_batch batch;
    uint32_t *words;
    size_t cap_words;
    bm_sign_task task;
    bool under_way;
} bm_bench_slot;

typedef struct bm_bench_worker {
    bm_shingler *shingler;
    bm_bench_slot slots[BM_BENCH_SLOTS];
    size_t next_slot, next_doc;
} bm_bench_worker;

typedef struct bm_bench_device {
    const bm_device_info *info; /* borrowed */
    uint32_t row_uints;
    bm_backend *backend;
    const bm_bench_text *text; /* borrowed; for the text rows */
    bm_bench_worker *workers;
    uint32_t n_workers;
    pthread_mutex_t lock;
    bm_bench_slot *under_way[BM_BENCH_DEPTH_MAX]; /* oldest first */
    size_t n_under_way;
    bool failed;
} bm_bench_device;

/* Open the backend for `n_workers` threads. */
bm_status bm_bench_device_open(const bm_bench_options *options, const bm_device_info *info,
                               uint32_t n_workers, bm_bench_device *out, bm_error *err);
void bm_bench_device_close(bm_bench_device *device);
/* Fill each slot with documents of `doc_hashes` hashes, as many as the backend prefers in a task.
 * If the backend is not parallel, only the slots of thread 0 are filled. */
bm_status bm_bench_device_fill(bm_bench_device *device, size_t doc_hashes, bm_error *err);
/* Open a shingler for each thread; `text` is borrowed. */
bm_status bm_bench_device_set_text(bm_bench_device *device, const bm_bench_options *options,
                                   const bm_text_options *shingle, const bm_bench_text *text,
                                   bm_error *err);

/* The ctx of the next three works is the bm_bench_device. */
extern const bm_bench_work bm_bench_work_resident; /* sign the filled slots through the backend */
extern const bm_bench_work bm_bench_work_kernel;   /* the same, timed by the device's own clock */
extern const bm_bench_work bm_bench_work_text;     /* from text in memory to words in memory */

/* The arithmetic alone, without a device. */
typedef struct bm_bench_limit {
    const bm_sign_loops *loops;
    bm_scheme_params params;
} bm_bench_limit;
extern const bm_bench_work bm_bench_work_limit; /* ctx: a bm_bench_limit */

/* bench_limit -- finds the upper bound for a device: the arithmetic of its busy processors.
 *
 *     native CPU           the signature loop without memory traffic, on the threads of the rows
 *     OpenCL, processors   the same loop on all processors that the device is made of
 *     OpenCL, GPU          computed: compute units * clock * 32-bit multiply-adds a clock /
 *                          permutations
 *
 * A measured limit is measured alternately with the row that it bounds. */

/* Return on how many threads the limit is measured: `threads` for a native device, the number of
 * processors for an OpenCL CPU device. 0: the limit is not measured. */
uint32_t bm_bench_limit_threads(const bm_device_info *info, uint32_t threads);

/* Choose the loop to measure. For a native device, it is the loop of the instruction set in use;
 * for other devices, the loop of the best instruction set on this machine. Release it with
 * bm_scheme_params_reset(&limit->params). */
bm_status bm_bench_limit_open(const bm_bench_options *options, const bm_device_info *info,
                              bm_bench_limit *limit, bm_error *err);

/* Compute the limit of a GPU in millions of shingles per second, from out->min to out->max;
 * out->median is the minimum. A compute unit of NVIDIA does 64 multiply-adds per clock, one of AMD
 * 16 to 64. Returns false if the limit is unknown. */
bool bm_bench_limit_computed(const bm_device_info *info, uint32_t perms, bm_bench_rate *out);
