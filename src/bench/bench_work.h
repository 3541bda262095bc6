/* SPDX-License-Identifier: Apache-2.0 */
/* bench_work.h -- what the benchmark does over and over on one device.
 *
 * A bench_device is a backend and, for each thread, what a job would hold: a shingler and slots,
 * each a batch with room for its words. While a device signs one slot the thread fills the next.
 * Several threads share one device of its own: a mutex makes their calls one at a time, and at most
 * backend->depth tasks are under way. */
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

/* bench_text -- the texts that the benchmark cuts and signs: a job's own, or made ones. */

/* At most so many bytes of text are read from files: enough to leave every cache. */
#define BM_BENCH_TEXT_MAX ((size_t)256 << 20)

typedef struct bm_bench_text {
    bm_buf bytes;    /* document after document */
    uint64_t *begin; /* n + 1 offsets */
    size_t n, cap;
    bool made;     /* by the generator */
    bm_buf common; /* of made text: its commonest words, a list of stop words; else empty */
} bm_bench_text;   /* {0} is empty */

/* Documents of `paths` (any format that jobs read); none: 32 MB of words with frequencies and
 * lengths like English, from a fixed seed. `callbacks` (or NULL) decide whether to stop.
 * BM_ERR_INPUT: bad records, or no text. BM_ERR_CANCELLED. */
bm_status bm_bench_text_open(const char *const *paths, size_t n_paths,
                             const bm_callbacks *callbacks, bm_bench_text *out, bm_error *err);
/* A third each of made documents in Latin letters with accents, in Greek, and in Chinese without
 * spaces: 16 MB from a fixed seed. */
bm_status bm_bench_text_foreign(bm_bench_text *out, bm_error *err);
void bm_bench_text_reset(bm_bench_text *text);

static inline bm_str bm_bench_text_get(const bm_bench_text *text, size_t i)
{
    return (bm_str){text->bytes.data + text->begin[i],
                    (size_t)(text->begin[i + 1] - text->begin[i])};
}

/* bench_rate -- how often something can be done in a second, on several threads.
 *
 * A measurement is one warm-up and `repeats` runs. In a run every thread repeats its work until
 * min_seconds have passed, then work under way is finished; the rate of the run is the work done
 * over the time until the last thread ended. The figures are median, least and greatest of the
 * runs. */

/* The work of one call of `work`, added up over calls and threads. */
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

/* Run by run in turns, so that a disturbance of the machine affects all of them; the first decides
 * the repeats. BM_ERR_CANCELLED, or the failure of `work`. */
bm_status bm_bench_measure_all(const bm_bench_series *series, size_t n, bm_error *err);
/* One alone. */
bm_status bm_bench_measure(const bm_bench_plan *plan, const bm_bench_work *work,
                           bm_bench_rate *shingles, bm_bench_rate *bytes, bm_error *err);

#define BM_BENCH_SLOTS     2u /* of a thread: one is filled while the other is signed */
#define BM_BENCH_DEPTH_MAX 8u
#define BM_BENCH_DOC       118u /* hashes: the mean of real text in word 5-shingles */

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
    const bm_bench_text *text; /* borrowed; of the text rows */
    bm_bench_worker *workers;
    uint32_t n_workers;
    pthread_mutex_t lock;
    bm_bench_slot *under_way[BM_BENCH_DEPTH_MAX]; /* oldest first */
    size_t n_under_way;
    bool failed;
} bm_bench_device;

/* Opens the backend; `n_workers` threads will work. */
bm_status bm_bench_device_open(const bm_bench_options *options, const bm_device_info *info,
                               uint32_t n_workers, bm_bench_device *out, bm_error *err);
void bm_bench_device_close(bm_bench_device *device);
/* Fill the slots (of thread 0 alone, if the device is not parallel) with documents of so many
 * hashes each, as many as the backend likes in a task. */
bm_status bm_bench_device_fill(bm_bench_device *device, size_t doc_hashes, bm_error *err);
/* A shingler for each thread; `text` is borrowed. */
bm_status bm_bench_device_set_text(bm_bench_device *device, const bm_bench_options *options,
                                   const bm_text_options *shingle, const bm_bench_text *text,
                                   bm_error *err);

/* ctx of all three is the bm_bench_device. */
extern const bm_bench_work bm_bench_work_resident; /* filled slots through the backend */
extern const bm_bench_work bm_bench_work_kernel;   /* likewise, by the device's own clock */
extern const bm_bench_work bm_bench_work_text;     /* text in memory to words in memory */

/* The arithmetic alone; no device. */
typedef struct bm_bench_limit {
    const bm_sign_loops *loops;
    bm_scheme_params params;
} bm_bench_limit;
extern const bm_bench_work bm_bench_work_limit; /* ctx: a bm_bench_limit */

/* bench_limit -- what bounds a device: the arithmetic of its own processors, and of as many of them
 * as work.
 *
 *     native CPU           the signature loop without memory traffic, on the threads of the rows
 *     OpenCL, processors   the same loop on all processors that the device is made of
 *     OpenCL, GPU          computed: compute units * clock * 32-bit multiply-adds a clock /
 *                          permutations
 *
 * A limit that is measured is measured in turns with the row that it is the limit of. */

/* A native device has `threads` threads, an OpenCL device its processors. 0: none is measured. */
uint32_t bm_bench_limit_threads(const bm_device_info *info, uint32_t threads);

/* The loop of the instruction set in use on a native device, of the best one else. Close it with
 * bm_scheme_params_reset(&limit->params). */
bm_status bm_bench_limit_open(const bm_bench_options *options, const bm_device_info *info,
                              bm_bench_limit *limit, bm_error *err);

/* Millions of shingles a second by a GPU of NVIDIA, which does 64 multiply-adds a clock of a compute
 * unit, or of AMD, which does 16 to 64: *out.min to *out.max, and *out.median is the least. False:
 * not known. */
bool bm_bench_limit_computed(const bm_device_info *info, uint32_t perms, bm_bench_rate *out);
