/* ingest.c -- the threads of the ingest: workers read, parse and sign, and each device has a thread
 * of its own, its device worker (ingest_sign.h).
 *
 * One mutex guards the reading, and who waits for it helps to unpack what will be read; another guards
 * the order (ingest_order.h). A failure to read becomes a batch of its own that fails in its turn,
 * behind what was read before.
 *
 * Tests: tests/unit/sign/test_ingest_read.c, tests/unit/sign/test_ingest_columns.c */
#include "sign/ingest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "sign/ingest_batch.h"
#include "sign/ingest_long.h"
#include "sign/ingest_order.h"
#include "sign/ingest_parse.h"
#include "sign/ingest_read.h"
#include "sign/ingest_sign.h"

typedef struct ingest {
    const bm_ingest_cfg *cfg;
    bm_ingest_order order;
    pthread_mutex_t read_lock; /* of the source and the three below */
    bool read_end;
    bm_ingest_long now; /* what the batch being read may hold */
    uint64_t n_read;    /* batches to parse: their numbers are 0 … n_read - 1 */

    bm_queue *queue; /* to the device workers; NULL: there are none */
    uint32_t n_workers, n_device_workers;
    atomic_uint workers_left;
} ingest;

/* One thread that reads, parses and signs. */
typedef struct host_worker {
    ingest *in;
    bm_ingest_worker worker;
    bm_ingest_times times;
    double mark; /* since when the time has not been added to `times` */
} host_worker;

/* A batch to parse; NULL at the end or when the ingest stops. read_lock is held. */
static bm_status read_batch(ingest *in, bm_ingest_batch **out, bm_error *err)
{
    bm_ingest_batch *batch = bm_ingest_order_new_batch(&in->order);
    bm_batch_got got = BM_BATCH_PASSED;
    bm_status status = batch != NULL ? BM_OK : bm_fail_nomem(err, sizeof *batch);
    while (status == BM_OK && got == BM_BATCH_PASSED &&
           bm_ingest_order_wait(&in->order, in->n_read)) {
        status = bm_meter_check(in->cfg->meter, err);
        bm_ingest_long_begin(&in->now, in->n_read);
        if (status == BM_OK)
            status = bm_ingest_read_next(in->cfg, batch, &got, err);
        if (got == BM_BATCH_PASSED) /* dropped: what it held is free again */
            bm_ingest_order_leave(&in->order, &in->now.share);
        batch->turn.share = in->now.share;
    }
    in->read_end = status != BM_OK || got != BM_BATCH_READ;
    if (in->read_end) {
        bm_ingest_batch_free(batch);
        batch = NULL;
    }
    *out = batch;
    return status;
}

/* Reading failed: a batch that says so in its turn, so that failures of what was read before come
 * first. */
static void deliver_failure(ingest *in, uint64_t sequence, bm_status status, const bm_error *error)
{
    bm_ingest_batch *last = bm_alloc_zero(1, sizeof *last);
    if (last == NULL) {
        bm_ingest_order_fail(&in->order, sequence, status, error);
        return;
    }
    last->turn.sequence = sequence;
    last->status = status;
    last->error = *error;
    bm_ingest_order_deliver(&in->order, last);
}

/* The next batch of input, read; NULL at the end or when the ingest stops. */
static bm_ingest_batch *read_next(host_worker *w)
{
    ingest *in = w->in;
    bm_error error = {0};
    bm_status status = BM_OK;
    bm_ingest_batch *batch = NULL;
    uint64_t sequence = 0;
    bm_batch_source_lock(in->cfg->source, &in->read_lock);
    if (!in->read_end && bm_ingest_order_wait(&in->order, in->n_read)) {
        bm_ingest_lap(&w->times.wait, &w->mark);
        status = read_batch(in, &batch, &error);
        sequence = in->n_read;
        if (batch != NULL)
            batch->turn.sequence = sequence;
        in->n_read += batch != NULL || status != BM_OK;
        bm_ingest_lap(&w->times.read, &w->mark);
    }
    pthread_mutex_unlock(&in->read_lock);
    if (status != BM_OK)
        deliver_failure(in, sequence, status, &error);
    return batch;
}

/* Sign on this thread, or leave it to a device: false when the batch is no longer ours. */
static bool sign(host_worker *w, bm_ingest_batch *batch)
{
    ingest *in = w->in;
    bm_device_set *device_set = in->cfg->device_set;
    if (device_set == NULL || batch->status != BM_OK || batch->n_docs == 0)
        return true;
    batch->status = bm_ingest_batch_make_task(in->cfg, batch, &batch->error);
    if (batch->status != BM_OK)
        return true;
    if (in->queue != NULL &&
        !batch->turn.share.alone) { /* else the CPU signs: it needs no staging */
        bool taken = device_set->use_cpu ? bm_queue_try_push(in->queue, batch)
                                         : bm_queue_push(in->queue, batch);
        bm_ingest_lap(&w->times.wait, &w->mark);
        if (taken)
            return false;
        if (!device_set->use_cpu)
            return true; /* the ingest stops */
    }
    batch->status = bm_ingest_sign_cpu(in->cfg, batch, w->worker.shingler, &batch->error);
    bm_ingest_lap(&w->times.sign, &w->mark);
    return true;
}

static void run_worker(ingest *in)
{
    host_worker w = {.in = in, .mark = bm_clock_seconds()};
    bm_error error = {0};
    bm_status status = bm_ingest_worker_open(in->cfg, &w.worker, &error);
    if (status != BM_OK)
        bm_ingest_order_fail(&in->order, 0, status, &error);
    bm_ingest_batch *batch;
    while (status == BM_OK && (batch = read_next(&w)) != NULL) {
        bm_ingest_batch_parse(&w.worker, batch);
        bm_ingest_lap(&w.times.text, &w.mark);
        /* Or what devices have finished. */
        bm_ingest_order_deliver(&in->order, sign(&w, batch) ? batch : NULL);
        w.mark = bm_clock_seconds(); /* delivery has a clock of its own */
    }
    bm_ingest_worker_close(&w.worker);
    bm_ingest_order_add_times(&in->order, &w.times);
    if (atomic_fetch_sub(&in->workers_left, 1) == 1 && in->queue != NULL)
        bm_queue_close(in->queue);
    pthread_mutex_lock(&in->read_lock);
    const uint64_t n = in->n_read;
    pthread_mutex_unlock(&in->read_lock);
    bm_ingest_order_finish(&in->order, n);
}

static bm_status run_thread(void *ctx, uint32_t thread, bm_error *err)
{
    (void)err;
    ingest *in = ctx;
    if (thread < in->n_workers)
        run_worker(in);
    else
        bm_ingest_device_run(&in->order,
                             &in->cfg->device_set->device_workers[thread - in->n_workers]);
    return BM_OK;
}

static bm_status ingest_open(const bm_ingest_cfg *cfg, ingest *in, bm_error *err)
{
    memset(in, 0, sizeof *in);
    in->cfg = cfg;
    in->n_workers = cfg->threads;
    in->n_device_workers =
        cfg->device_set != NULL ? (uint32_t)cfg->device_set->n_device_workers : 0;
    atomic_store(&in->workers_left, in->n_workers);
    pthread_mutex_init(&in->read_lock, NULL);
    uint64_t window = bm_budget_window(cfg->threads, in->n_device_workers);
    bm_status status = bm_ingest_order_open(cfg, window, &in->order, err);
    if (status == BM_OK && in->n_device_workers > 0)
        status = bm_queue_open(2 * (size_t)in->n_device_workers, &in->queue, err);
    in->order.queue = in->queue;
    bm_ingest_long_init(cfg, &in->order, &in->now);
    if (status == BM_OK)
        status = bm_ingest_read_begin(cfg, &in->now.gate, window, err);
    return status;
}

static void ingest_close(ingest *in)
{
    void *item;
    while (in->queue != NULL && bm_queue_drain(in->queue, &item))
        bm_ingest_batch_free(item);
    bm_queue_free(in->queue);
    bm_ingest_order_close(&in->order);
    bm_batch_source_end(in->cfg->source);
    pthread_mutex_destroy(&in->read_lock);
}

bm_status bm_ingest_run(const bm_ingest_cfg *cfg, bm_error *err)
{
    ingest in;
    bm_pool *pool = NULL;
    const double began = bm_clock_seconds();
    bm_status status = ingest_open(cfg, &in, err);
    if (status == BM_OK)
        status = bm_pool_open(in.n_workers + in.n_device_workers, &pool, err);
    if (status == BM_OK) {
        bm_pool_run(pool, run_thread, &in, NULL);
        status = in.order.status;
        if (status != BM_OK && err != NULL)
            *err = in.order.error;
    }
    bm_ingest_times *times = &in.order.times;
    times->elapsed = bm_clock_seconds() - began;
    times->workers = in.n_workers;
    times->device_workers = in.n_device_workers;
    if (cfg->times != NULL)
        *cfg->times = *times;
    bm_pool_close(pool);
    ingest_close(&in);
    return status;
}
