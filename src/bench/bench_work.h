/* bench_work.h -- what the benchmark does over and over on one device.
 *
 * A bench_device is a backend and, for each thread, what a job would hold: a shingler and slots,
 * each a batch with room for its words. While a device signs one slot the thread fills the next.
 * Several threads share one device of its own: a mutex makes their calls one at a time, and at most
 * backend->depth tasks are under way. */
#ifndef BM_BENCH_BENCH_WORK_H
#define BM_BENCH_BENCH_WORK_H

#include <pthread.h>

#include "bench/bench.h"
#include "model/backend.h"
#include "cpu/sign_loops_row.h"
#include "model/shingle_batch.h"
#include "bench/bench_rate.h"
#include "bench/bench_text.h"
#include "text/shingler.h"

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
/* Fill the slots (of a device that is not parallel: those of thread 0, which works alone) with
 * documents of so many hashes each, as many as the backend likes in a task. */
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

#endif
