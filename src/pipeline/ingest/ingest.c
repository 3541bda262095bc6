/* ingest.c -- the threads of the ingest: workers, device_workers, and the ring that puts batches back in order.
 *
 * One mutex guards the order (ring, numbers, stop), another the reader. A batch that fails carries
 * its failure to its turn, so the first one in input order wins; a failure without a batch (a
 * thread's scratch, the reader) stops the ingest at once. Every batch is owned by exactly one of:
 * free list, worker, device_worker's queue, device_worker, ring. */
#include "pipeline/ingest/ingest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/queue.h"
#include "pipeline/ingest/ingest_batch.h"
#include "pipeline/ingest/ingest_read.h"
#include "pipeline/ingest/ingest_text.h"

#define DEVICE_DEPTH_MAX 8u

typedef struct ingest {
    const bm_ingest_cfg *cfg;
    pthread_mutex_t read_lock; /* of the three below */
    bm_batch_source source;
    bool read_end;
    uint64_t n_read; /* batches to parse: their numbers are 0 ... n_read - 1 */

    pthread_mutex_t order_lock; /* of all below */
    pthread_cond_t moved;       /* next moved, or stop */
    bm_ingest_batch **ring;
    uint64_t window, next;
    bool delivering, stop;
    bm_ingest_batch **free;
    size_t n_free;
    bm_status status;
    bm_error error;

    bm_queue *queue; /* to the device_workers; NULL: no device_workers */
    atomic_uint workers_left;
    uint32_t n_workers;
    double began;
    bm_ingest_times times; /* order_lock */
} ingest;

/* Add the seconds since *mark to *sum, and begin again. */
static void lap(double *sum, double *mark)
{
    double now = bm_clock_seconds();
    *sum += now - *mark;
    *mark = now;
}

static void fail(ingest *f, bm_status status, const bm_error *error)
{
    pthread_mutex_lock(&f->order_lock);
    if (f->status == BM_OK) {
        f->status = status;
        f->error = *error;
    }
    f->stop = true;
    pthread_cond_broadcast(&f->moved);
    pthread_mutex_unlock(&f->order_lock);
    if (f->queue != NULL)
        bm_queue_abort(f->queue);
}

static bm_ingest_batch *batch_take(ingest *f)
{
    bm_ingest_batch *batch = NULL;
    pthread_mutex_lock(&f->order_lock);
    if (f->n_free > 0)
        batch = f->free[--f->n_free];
    pthread_mutex_unlock(&f->order_lock);
    return batch != NULL ? batch : bm_alloc_zero(1, sizeof *batch);
}

/* order_lock held. */
static void batch_put_back(ingest *f, bm_ingest_batch *batch)
{
    bm_ingest_batch_clear(batch);
    if (f->n_free < f->window)
        f->free[f->n_free++] = batch;
    else
        bm_ingest_batch_free(batch);
}

/* Hand a finished batch to its place; whoever finds its turn come delivers it and all that follow.
 */
static void deliver(ingest *f, bm_ingest_batch *batch)
{
    pthread_mutex_lock(&f->order_lock);
    f->ring[batch->sequence % f->window] = batch;
    while (!f->delivering && !f->stop && f->ring[f->next % f->window] != NULL) {
        bm_ingest_batch *turn = f->ring[f->next % f->window];
        f->ring[f->next % f->window] = NULL;
        f->delivering = true;
        pthread_mutex_unlock(&f->order_lock);
        bm_error error = {0};
        double mark = bm_clock_seconds(), spent = 0;
        bm_status status = bm_ingest_batch_deliver(f->cfg, turn, &error);
        if (status != BM_OK)
            fail(f, status, &error);
        lap(&spent, &mark);
        pthread_mutex_lock(&f->order_lock);
        f->times.deliver += spent;
        batch_put_back(f, turn);
        f->delivering = false;
        f->next++;
        pthread_cond_broadcast(&f->moved);
    }
    pthread_mutex_unlock(&f->order_lock);
}

/* Wait until batch number `n` has a place in the ring; false: the ingest stops. */
static bool wait_for_place(ingest *f, uint64_t n)
{
    pthread_mutex_lock(&f->order_lock);
    while (!f->stop && n - f->next >= f->window)
        pthread_cond_wait(&f->moved, &f->order_lock);
    bool go = !f->stop;
    pthread_mutex_unlock(&f->order_lock);
    return go;
}

/* A batch with records to parse, read; NULL at the end or when the ingest stops. read_lock held. */
static bm_status read_batch(ingest *f, bm_ingest_batch **out, bm_error *err)
{
    bm_ingest_batch *batch = batch_take(f);
    bm_ingest_got got = BM_INGEST_PASSED;
    bm_status status = batch != NULL ? BM_OK : bm_fail_nomem(err, sizeof *batch);
    while (status == BM_OK && got == BM_INGEST_PASSED && wait_for_place(f, f->n_read)) {
        status = bm_meter_check(f->cfg->meter, err);
        if (status == BM_OK)
            status = bm_batch_source_next(&f->source, batch, &got, err);
    }
    f->read_end = status != BM_OK || got != BM_INGEST_BATCH;
    if (f->read_end) {
        bm_ingest_batch_free(batch);
        batch = NULL;
    }
    *out = batch;
    return status;
}

/* Reading failed: a batch that says so in its turn, so that failures of what was read before come
 * first. */
static void deliver_failure(ingest *f, uint64_t sequence, bm_status status, const bm_error *error)
{
    bm_ingest_batch *last = bm_alloc_zero(1, sizeof *last);
    if (last == NULL) {
        fail(f, status, error);
        return;
    }
    last->sequence = sequence;
    last->status = status;
    last->error = *error;
    deliver(f, last);
}

/* The next batch of input, read; NULL at the end or when the ingest stops. */
static bm_ingest_batch *read_next(ingest *f, bm_ingest_times *times, double *mark)
{
    bm_error error = {0};
    bm_status status = BM_OK;
    bm_ingest_batch *batch = NULL;
    uint64_t sequence = 0;
    pthread_mutex_lock(&f->read_lock);
    if (!f->read_end && wait_for_place(f, f->n_read)) {
        lap(&times->wait, mark);
        status = read_batch(f, &batch, &error);
        sequence = f->n_read++;
        if (batch != NULL)
            batch->sequence = sequence;
        lap(&times->read, mark);
    }
    pthread_mutex_unlock(&f->read_lock);
    if (status != BM_OK)
        deliver_failure(f, sequence, status, &error);
    return batch;
}

/* Sign on the native CPU, whatever form the batch has. */
static bm_status sign_cpu(ingest *f, bm_ingest_batch *batch, bm_shingler *shingler, bm_error *err)
{
    bm_status status = BM_OK;
    if (batch->as_text) {
        status = bm_ingest_text_hash(batch, shingler, err);
        if (status == BM_OK)
            status = bm_ingest_batch_task(f->cfg, batch, err);
    }
    if (status == BM_OK)
        status = bm_device_set_sign_cpu(f->cfg->device_set, &batch->task, err);
    if (status == BM_OK)
        atomic_fetch_add(&f->cfg->device_set->cpu_docs, batch->n_docs);
    return status;
}

/* Sign on this thread, or leave it to a device_worker: false when the batch is no longer ours. */
static bool sign(ingest *f, bm_ingest_worker *worker, bm_ingest_batch *batch,
                 bm_ingest_times *times, double *mark)
{
    bm_device_set *device_set = f->cfg->device_set;
    if (device_set == NULL || batch->status != BM_OK || batch->n_docs == 0)
        return true;
    batch->status = bm_ingest_batch_task(f->cfg, batch, &batch->error);
    if (batch->status != BM_OK)
        return true;
    if (f->queue != NULL) {
        bool taken = device_set->use_cpu ? bm_queue_try_push(f->queue, batch)
                                         : bm_queue_push(f->queue, batch);
        lap(&times->wait, mark);
        if (taken)
            return false;
        if (!device_set->use_cpu)
            return true; /* the ingest stops */
    }
    batch->status = sign_cpu(f, batch, worker->shingler, &batch->error);
    lap(&times->sign, mark);
    return true;
}

static void add_times(ingest *f, const bm_ingest_times *times)
{
    pthread_mutex_lock(&f->order_lock);
    f->times.read += times->read;
    f->times.text += times->text;
    f->times.sign += times->sign;
    f->times.device += times->device;
    f->times.wait += times->wait;
    f->times.idle += times->idle;
    pthread_mutex_unlock(&f->order_lock);
}

static bm_status work(ingest *f)
{
    bm_ingest_worker worker;
    bm_error error = {0};
    bm_ingest_times times = {0};
    double mark = bm_clock_seconds();
    bm_status status = bm_ingest_worker_open(f->cfg, &worker, &error);
    if (status != BM_OK)
        fail(f, status, &error);
    bm_ingest_batch *batch;
    while (status == BM_OK && (batch = read_next(f, &times, &mark)) != NULL) {
        bm_ingest_batch_parse(&worker, batch);
        lap(&times.text, &mark);
        if (sign(f, &worker, batch, &times, &mark))
            deliver(f, batch);
        mark = bm_clock_seconds(); /* delivery has a clock of its own */
    }
    if (status == BM_OK)
        bm_ingest_worker_close(&worker);
    add_times(f, &times);
    if (atomic_fetch_sub(&f->workers_left, 1) == 1 && f->queue != NULL)
        bm_queue_close(f->queue);
    return BM_OK;
}

/* --- device_workers --- */

typedef struct device_worker_run {
    ingest *f;
    bm_device_worker *device_worker;
    bm_ingest_batch *in_flight[DEVICE_DEPTH_MAX];
    uint32_t n;
    bm_status
        status; /* once the device_worker is dead: BM_OK, the CPU signs; else why every batch fails */
    bm_error error;
} device_worker_run;

/* The device_worker is dead: sign on the CPU what it holds, or fail each with the device_worker's error. */
static void device_worker_replace(device_worker_run *run)
{
    for (uint32_t i = 0; i < run->n; i++) {
        bm_ingest_batch *batch = run->in_flight[i];
        batch->status = run->status;
        batch->error = run->error;
        if (run->status == BM_OK)
            batch->status = sign_cpu(run->f, batch, run->device_worker->shingler, &batch->error);
    }
    uint32_t n = run->n;
    run->n = 0;
    for (uint32_t i = 0; i < n; i++)
        deliver(run->f, run->in_flight[i]);
}

/* A device that is stuck keeps for good what it holds; the device_worker goes on with other batches that
 * hold the same documents. */
static void device_worker_leave(device_worker_run *run, bm_error *error)
{
    for (uint32_t i = 0; i < run->n; i++) {
        bm_ingest_batch *other = bm_ingest_batch_leave(run->in_flight[i]);
        bm_status status = BM_ERR_NOMEM;
        if (other != NULL)
            status = bm_ingest_batch_task(run->f->cfg, other, error);
        if (status != BM_OK) { /* the ingest ends here */
            fail(run->f, status, error);
            bm_ingest_batch_free(other);
            run->n = i;
            return;
        }
        run->in_flight[i] = other;
    }
}

/* The device_worker's device failed: close it first, for it may still write into what it held. */
static void device_worker_give_up(device_worker_run *run, bm_status status, const bm_error *error)
{
    bm_backend *backend = run->device_worker->backend;
    bm_error none = {0};
    backend->ops->drain(backend, NULL);
    if (backend->stuck)
        device_worker_leave(run, &none);
    backend->ops->close(backend);
    run->device_worker->backend = NULL;
    run->error = *error;
    run->status = bm_device_set_worker_failed(run->f->cfg->device_set, run->device_worker, status,
                                              &run->error);
    device_worker_replace(run);
}

static void device_worker_submit(device_worker_run *run, bm_ingest_batch *batch)
{
    bm_error error = {0};
    bm_backend *backend = run->device_worker->backend;
    run->in_flight[run->n++] = batch;
    if (run->device_worker->dead) {
        device_worker_replace(run);
        return;
    }
    bm_status status = backend->ops->submit(backend, &batch->task, &error);
    if (status == BM_ERR_UNSUPPORTED && batch->as_text) { /* a text beyond the device's buffers */
        status = bm_ingest_text_hash(batch, run->device_worker->shingler, &error);
        if (status == BM_OK)
            status = bm_ingest_batch_task(run->f->cfg, batch, &error);
        if (status == BM_OK)
            status = backend->ops->submit(backend, &batch->task, &error);
    }
    if (status != BM_OK)
        device_worker_give_up(run, status, &error);
}

static void device_worker_finish_oldest(device_worker_run *run)
{
    bm_error error = {0};
    bm_backend *backend = run->device_worker->backend;
    bm_ingest_batch *batch = run->in_flight[0];
    bm_status status = backend->ops->wait(backend, &batch->task, &error);
    if (status == BM_OK)
        status =
            bm_device_set_check(run->f->cfg->device_set, run->device_worker, &batch->task, &error);
    if (status != BM_OK) {
        device_worker_give_up(run, status, &error);
        return;
    }
    if (batch->as_text)
        batch->status = bm_ingest_text_finish(run->f->cfg->device_set, batch,
                                              run->device_worker->shingler, &batch->error);
    run->device_worker->n_docs += batch->n_docs;
    run->n--;
    memmove(run->in_flight, run->in_flight + 1, run->n * sizeof run->in_flight[0]);
    deliver(run->f, batch);
}

static bm_status run_device_worker(ingest *f, bm_device_worker *device_worker)
{
    device_worker_run run = {.f = f, .device_worker = device_worker};
    uint32_t depth = device_worker->dead || device_worker->backend->depth < 1
                         ? 1
                         : device_worker->backend->depth;
    if (depth > DEVICE_DEPTH_MAX)
        depth = DEVICE_DEPTH_MAX;
    void *item;
    bm_ingest_times times = {0};
    double mark = bm_clock_seconds();
    for (;;) {
        if (run.n == 0) {
            bool more = bm_queue_pop(f->queue, &item);
            lap(&times.idle, &mark);
            if (!more)
                break;
            device_worker_submit(&run, item);
        } else if (run.n < depth && bm_queue_try_pop(f->queue, &item)) {
            device_worker_submit(&run, item);
        } else {
            device_worker_finish_oldest(&run);
        }
        lap(&times.device, &mark);
    }
    add_times(f, &times);
    return BM_OK;
}

static bm_status run_thread(void *ctx, uint32_t thread, bm_error *err)
{
    (void)err;
    ingest *f = ctx;
    if (thread < f->n_workers)
        return work(f);
    return run_device_worker(f, &f->cfg->device_set->device_workers[thread - f->n_workers]);
}

/* --- opening and closing --- */

static bm_status ingest_open(const bm_ingest_cfg *cfg, ingest *f, bm_error *err)
{
    memset(f, 0, sizeof *f);
    f->cfg = cfg;
    f->began = bm_clock_seconds();
    f->n_workers = cfg->threads;
    atomic_store(&f->workers_left, f->n_workers);
    size_t n_device_workers = cfg->device_set != NULL ? cfg->device_set->n_device_workers : 0;
    f->window = bm_budget_window(cfg->threads, (uint32_t)n_device_workers);
    pthread_mutex_init(&f->read_lock, NULL);
    pthread_mutex_init(&f->order_lock, NULL);
    pthread_cond_init(&f->moved, NULL);
    f->ring = bm_alloc_zero(f->window, sizeof *f->ring);
    f->free = bm_alloc_zero(f->window, sizeof *f->free);
    if (f->ring == NULL || f->free == NULL)
        return bm_fail_nomem(err, f->window * sizeof *f->ring);
    bm_status status = BM_OK;
    if (n_device_workers > 0)
        status = bm_queue_open(2 * n_device_workers, &f->queue, err);
    if (status == BM_OK)
        status = bm_batch_source_open(cfg, f->window, &f->source, err);
    return status;
}

static void ingest_close(ingest *f)
{
    void *item;
    while (f->queue != NULL && bm_queue_drain(f->queue, &item))
        bm_ingest_batch_free(item);
    bm_queue_free(f->queue);
    for (uint64_t i = 0; f->ring != NULL && i < f->window; i++)
        bm_ingest_batch_free(f->ring[i]);
    for (size_t i = 0; i < f->n_free; i++)
        bm_ingest_batch_free(f->free[i]);
    bm_free(f->ring);
    bm_free(f->free);
    bm_batch_source_close(&f->source);
    pthread_cond_destroy(&f->moved);
    pthread_mutex_destroy(&f->order_lock);
    pthread_mutex_destroy(&f->read_lock);
}

bm_status bm_ingest_run(const bm_ingest_cfg *cfg, bm_error *err)
{
    ingest f;
    bm_pool *pool = NULL;
    bm_status status = ingest_open(cfg, &f, err);
    size_t n_device_workers = cfg->device_set != NULL ? cfg->device_set->n_device_workers : 0;
    if (status == BM_OK)
        status = bm_pool_open(f.n_workers + (uint32_t)n_device_workers, &pool, err);
    if (status == BM_OK) {
        bm_pool_run(pool, run_thread, &f, NULL);
        status = f.status;
        if (status != BM_OK && err != NULL)
            *err = f.error;
    }
    f.times.elapsed = bm_clock_seconds() - f.began;
    f.times.workers = f.n_workers;
    f.times.device_workers = (uint32_t)n_device_workers;
    if (cfg->times != NULL)
        *cfg->times = f.times;
    bm_pool_close(pool);
    ingest_close(&f);
    return status;
}

const char *bm_ingest_bottleneck(const bm_ingest_times *times)
{
    const double workers = times->workers > 0 ? times->workers : 1;
    const double device_workers = times->device_workers > 0 ? times->device_workers : 1;
    const struct {
        const char *name;
        double busy; /* of one thread that may do it */
    } stages[] = {{"read", times->read},
                  {"text", times->text / workers},
                  {"sign", times->sign / workers},
                  {"device", times->device / device_workers},
                  {"deliver", times->deliver}};
    size_t most = 0;
    for (size_t i = 1; i < sizeof stages / sizeof stages[0]; i++)
        if (stages[i].busy > stages[most].busy)
            most = i;
    return stages[most].name;
}
