/* ingest_sign.c -- the native CPU and the threads of devices.
 *
 *     queue ->  in_flight [2] [1] [0]  -> its place in the order, from which a worker delivers it
 *                                 oldest: a device ends its tasks in the order they came
 *
 * Tests: tests/fault/device/calls.sh, tests/fault/device/deaths.sh, tests/race/race_pipeline.c */
#include "sign/ingest_sign.h"

#include <string.h>

#include "base/error.h"
#include "sign/ingest_batch.h"
#include "sign/ingest_text.h"

#define DEPTH_MAX 8u

/* A device and the batches that it holds. */
typedef struct device_run {
    bm_ingest_order *order;
    const bm_ingest_cfg *cfg;
    bm_device_worker *device;
    bm_ingest_batch *in_flight[DEPTH_MAX]; /* the oldest first */
    uint32_t n;
    bm_status after_death; /* of a dead device: BM_OK, the CPU signs; else why every batch fails */
    bm_error error;
} device_run;

bm_status bm_ingest_sign_cpu(const bm_ingest_cfg *cfg, bm_ingest_batch *batch,
                             bm_shingler *shingler, bm_error *err)
{
    if (batch->as_text) {
        BM_TRY(bm_ingest_text_hash(batch, shingler, err));
        BM_TRY(bm_ingest_batch_make_task(cfg, batch, err));
    }
    BM_TRY(bm_device_set_sign_cpu(cfg->device_set, &batch->task, err));
    atomic_fetch_add(&cfg->device_set->cpu_docs, batch->n_docs);
    return BM_OK;
}

/* The device is dead: sign what it held on the CPU, or fail each batch with its error. */
static void do_without_device(device_run *run)
{
    for (uint32_t i = 0; i < run->n; i++) {
        bm_ingest_batch *batch = run->in_flight[i];
        batch->status = run->after_death;
        batch->error = run->error;
        if (run->after_death == BM_OK)
            batch->status =
                bm_ingest_sign_cpu(run->cfg, batch, run->device->shingler, &batch->error);
    }
    uint32_t n = run->n;
    run->n = 0;
    for (uint32_t i = 0; i < n; i++)
        bm_ingest_order_place(run->order, run->in_flight[i]);
}

/* A device that is stuck has what it holds for good: go on with other batches of the same
 * documents. */
static void leave_batches_to_device(device_run *run)
{
    bm_error error = {0};
    for (uint32_t i = 0; i < run->n; i++) {
        bm_ingest_batch *other = bm_ingest_batch_leave_to_device(run->in_flight[i]);
        bm_status status = BM_ERR_NOMEM;
        if (other != NULL)
            status = bm_ingest_batch_make_task(run->cfg, other, &error);
        if (status != BM_OK) { /* the ingest ends here */
            bm_ingest_order_fail(run->order, run->in_flight[i]->turn.sequence, status, &error);
            bm_ingest_batch_free(other);
            run->n = i;
            return;
        }
        run->in_flight[i] = other;
    }
}

/* Close the device first, for it may still write into what it held. */
static void device_failed(device_run *run, bm_status status, const bm_error *error)
{
    bm_backend *backend = run->device->backend;
    backend->ops->drain(backend, NULL);
    if (backend->stuck)
        leave_batches_to_device(run);
    backend->ops->close(backend);
    run->device->backend = NULL;
    run->error = *error;
    run->after_death =
        bm_device_set_worker_failed(run->cfg->device_set, run->device, status, &run->error);
    do_without_device(run);
}

static void submit(device_run *run, bm_ingest_batch *batch)
{
    bm_error error = {0};
    run->in_flight[run->n++] = batch;
    if (run->device->dead) {
        do_without_device(run);
        return;
    }
    bm_backend *backend = run->device->backend;
    bm_status status = backend->ops->submit(backend, &batch->task, &error);
    if (status == BM_ERR_UNSUPPORTED && batch->as_text) { /* a text beyond the device's buffers */
        status = bm_ingest_text_hash(batch, run->device->shingler, &error);
        if (status == BM_OK)
            status = bm_ingest_batch_make_task(run->cfg, batch, &error);
        if (status == BM_OK)
            status = backend->ops->submit(backend, &batch->task, &error);
    }
    if (status != BM_OK)
        device_failed(run, status, &error);
}

static void finish_oldest(device_run *run)
{
    bm_error error = {0};
    bm_device_set *device_set = run->cfg->device_set;
    bm_backend *backend = run->device->backend;
    bm_ingest_batch *batch = run->in_flight[0];
    bm_status status = backend->ops->wait(backend, &batch->task, &error);
    if (status == BM_OK)
        status = bm_device_set_check(device_set, run->device, &batch->task, &error);
    if (status != BM_OK) {
        device_failed(run, status, &error);
        return;
    }
    if (batch->as_text)
        batch->status =
            bm_ingest_text_finish(device_set, batch, run->device->shingler, &batch->error);
    run->device->n_docs += batch->n_docs;
    run->n--;
    memmove(run->in_flight, run->in_flight + 1, run->n * sizeof run->in_flight[0]);
    bm_ingest_order_place(run->order, batch);
}

static uint32_t depth_of(const bm_device_worker *device)
{
    uint32_t depth = device->dead ? 1 : device->backend->depth;
    return depth < 1 ? 1 : depth > DEPTH_MAX ? DEPTH_MAX : depth;
}

void bm_ingest_device_run(bm_ingest_order *order, bm_device_worker *device)
{
    device_run run = {.order = order, .cfg = order->cfg, .device = device};
    const uint32_t depth = depth_of(device);
    void *item;
    bm_ingest_times times = {0};
    double mark = bm_clock_seconds();
    for (;;) {
        if (run.n == 0) {
            bool more = bm_queue_pop(order->queue, &item);
            bm_ingest_lap(&times.idle, &mark);
            if (!more)
                break;
            submit(&run, item);
        } else if (run.n < depth && bm_queue_try_pop(order->queue, &item)) {
            submit(&run, item);
        } else {
            finish_oldest(&run);
        }
        bm_ingest_lap(&times.device, &mark);
    }
    bm_ingest_order_add_times(order, &times);
}
