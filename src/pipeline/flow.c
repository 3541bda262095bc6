/* flow.c -- the threads of the flow: workers, lanes, and the ring that puts batches back in order.
 *
 * One mutex guards the order (ring, numbers, stop), another the reader. A batch that fails carries
 * its failure to its turn, so the first one in input order wins; a failure without a batch (a
 * thread's scratch, the reader) stops the flow at once. Every batch is owned by exactly one of:
 * free list, worker, lane's queue, lane, ring. */
#include "pipeline/flow.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/queue.h"
#include "pipeline/flow_batch.h"
#include "pipeline/flow_read.h"
#include "pipeline/flow_text.h"

#define LANE_DEPTH_MAX 8u

typedef struct flow {
    const bm_flow_cfg *cfg;
    pthread_mutex_t read_lock; /* of the three below */
    bm_flow_source source;
    bool read_end;
    uint64_t n_read; /* batches to parse: their numbers are 0 ... n_read - 1 */

    pthread_mutex_t order_lock; /* of all below */
    pthread_cond_t moved;       /* next moved, or stop */
    bm_flow_batch **ring;
    uint64_t window, next;
    bool delivering, stop;
    bm_flow_batch **free;
    size_t n_free;
    bm_status status;
    bm_error error;

    bm_queue *queue; /* to the lanes; NULL: no lanes */
    atomic_uint workers_left;
    uint32_t n_workers;
    double began;
    bm_flow_times times; /* order_lock */
} flow;

/* Add the seconds since *mark to *sum, and begin again. */
static void lap(double *sum, double *mark)
{
    double now = bm_clock_seconds();
    *sum += now - *mark;
    *mark = now;
}

static void fail(flow *f, bm_status status, const bm_error *error)
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

static bm_flow_batch *batch_take(flow *f)
{
    bm_flow_batch *batch = NULL;
    pthread_mutex_lock(&f->order_lock);
    if (f->n_free > 0)
        batch = f->free[--f->n_free];
    pthread_mutex_unlock(&f->order_lock);
    return batch != NULL ? batch : bm_alloc_zero(1, sizeof *batch);
}

/* order_lock held. */
static void batch_put_back(flow *f, bm_flow_batch *batch)
{
    bm_flow_batch_clear(batch);
    if (f->n_free < f->window)
        f->free[f->n_free++] = batch;
    else
        bm_flow_batch_free(batch);
}

/* Hand a finished batch to its place; whoever finds its turn come delivers it and all that follow.
 */
static void deliver(flow *f, bm_flow_batch *batch)
{
    pthread_mutex_lock(&f->order_lock);
    f->ring[batch->sequence % f->window] = batch;
    while (!f->delivering && !f->stop && f->ring[f->next % f->window] != NULL) {
        bm_flow_batch *turn = f->ring[f->next % f->window];
        f->ring[f->next % f->window] = NULL;
        f->delivering = true;
        pthread_mutex_unlock(&f->order_lock);
        bm_error error = {0};
        double mark = bm_clock_seconds(), spent = 0;
        bm_status status = bm_flow_batch_deliver(f->cfg, turn, &error);
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

/* Wait until batch number `n` has a place in the ring; false: the flow stops. */
static bool wait_for_place(flow *f, uint64_t n)
{
    pthread_mutex_lock(&f->order_lock);
    while (!f->stop && n - f->next >= f->window)
        pthread_cond_wait(&f->moved, &f->order_lock);
    bool go = !f->stop;
    pthread_mutex_unlock(&f->order_lock);
    return go;
}

/* A batch with records to parse, read; NULL at the end or when the flow stops. read_lock held. */
static bm_status read_batch(flow *f, bm_flow_batch **out, bm_error *err)
{
    bm_flow_batch *batch = batch_take(f);
    bm_flow_got got = BM_FLOW_PASSED;
    bm_status status = batch != NULL ? BM_OK : bm_fail_nomem(err, sizeof *batch);
    while (status == BM_OK && got == BM_FLOW_PASSED && wait_for_place(f, f->n_read)) {
        status = bm_meter_check(f->cfg->meter, err);
        if (status == BM_OK)
            status = bm_flow_source_next(&f->source, batch, &got, err);
    }
    f->read_end = status != BM_OK || got != BM_FLOW_BATCH;
    if (f->read_end) {
        bm_flow_batch_free(batch);
        batch = NULL;
    }
    *out = batch;
    return status;
}

/* Reading failed: a batch that says so in its turn, so that failures of what was read before come
 * first. */
static void deliver_failure(flow *f, uint64_t sequence, bm_status status, const bm_error *error)
{
    bm_flow_batch *last = bm_alloc_zero(1, sizeof *last);
    if (last == NULL) {
        fail(f, status, error);
        return;
    }
    last->sequence = sequence;
    last->status = status;
    last->error = *error;
    deliver(f, last);
}

/* The next batch of input, read; NULL at the end or when the flow stops. */
static bm_flow_batch *read_next(flow *f, bm_flow_times *times, double *mark)
{
    bm_error error = {0};
    bm_status status = BM_OK;
    bm_flow_batch *batch = NULL;
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
static bm_status sign_cpu(flow *f, bm_flow_batch *batch, bm_shingler *shingler, bm_error *err)
{
    bm_status status = BM_OK;
    if (batch->as_text) {
        status = bm_flow_text_hash(batch, shingler, err);
        if (status == BM_OK)
            status = bm_flow_batch_task(f->cfg, batch, err);
    }
    if (status == BM_OK)
        status = bm_engine_sign_cpu(f->cfg->engine, &batch->task, err);
    if (status == BM_OK)
        atomic_fetch_add(&f->cfg->engine->cpu_docs, batch->n_docs);
    return status;
}

/* Sign on this thread, or leave it to a lane: false when the batch is no longer ours. */
static bool sign(flow *f, bm_flow_worker *worker, bm_flow_batch *batch, bm_flow_times *times,
                 double *mark)
{
    bm_engine *engine = f->cfg->engine;
    if (engine == NULL || batch->status != BM_OK || batch->n_docs == 0)
        return true;
    batch->status = bm_flow_batch_task(f->cfg, batch, &batch->error);
    if (batch->status != BM_OK)
        return true;
    if (f->queue != NULL) {
        bool taken =
            engine->use_cpu ? bm_queue_try_push(f->queue, batch) : bm_queue_push(f->queue, batch);
        lap(&times->wait, mark);
        if (taken)
            return false;
        if (!engine->use_cpu)
            return true; /* the flow stops */
    }
    batch->status = sign_cpu(f, batch, worker->shingler, &batch->error);
    lap(&times->sign, mark);
    return true;
}

static void add_times(flow *f, const bm_flow_times *times)
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

static bm_status work(flow *f)
{
    bm_flow_worker worker;
    bm_error error = {0};
    bm_flow_times times = {0};
    double mark = bm_clock_seconds();
    bm_status status = bm_flow_worker_open(f->cfg, &worker, &error);
    if (status != BM_OK)
        fail(f, status, &error);
    bm_flow_batch *batch;
    while (status == BM_OK && (batch = read_next(f, &times, &mark)) != NULL) {
        bm_flow_batch_parse(&worker, batch);
        lap(&times.text, &mark);
        if (sign(f, &worker, batch, &times, &mark))
            deliver(f, batch);
        mark = bm_clock_seconds(); /* delivery has a clock of its own */
    }
    if (status == BM_OK)
        bm_flow_worker_close(&worker);
    add_times(f, &times);
    if (atomic_fetch_sub(&f->workers_left, 1) == 1 && f->queue != NULL)
        bm_queue_close(f->queue);
    return BM_OK;
}

/* --- lanes --- */

typedef struct lane_run {
    flow *f;
    bm_lane *lane;
    bm_flow_batch *in_flight[LANE_DEPTH_MAX];
    uint32_t n;
    bm_status status; /* once the lane is dead: BM_OK, the CPU signs; else why every batch fails */
    bm_error error;
} lane_run;

/* The lane is dead: sign on the CPU what it holds, or fail each with the lane's error. */
static void lane_replace(lane_run *run)
{
    for (uint32_t i = 0; i < run->n; i++) {
        bm_flow_batch *batch = run->in_flight[i];
        batch->status = run->status;
        batch->error = run->error;
        if (run->status == BM_OK)
            batch->status = sign_cpu(run->f, batch, run->lane->shingler, &batch->error);
    }
    uint32_t n = run->n;
    run->n = 0;
    for (uint32_t i = 0; i < n; i++)
        deliver(run->f, run->in_flight[i]);
}

/* A device that is stuck keeps for good what it holds; the lane goes on with other batches that
 * hold the same documents. */
static void lane_leave(lane_run *run, bm_error *error)
{
    for (uint32_t i = 0; i < run->n; i++) {
        bm_flow_batch *other = bm_flow_batch_leave(run->in_flight[i]);
        bm_status status = BM_ERR_NOMEM;
        if (other != NULL)
            status = bm_flow_batch_task(run->f->cfg, other, error);
        if (status != BM_OK) { /* the flow ends here */
            fail(run->f, status, error);
            bm_flow_batch_free(other);
            run->n = i;
            return;
        }
        run->in_flight[i] = other;
    }
}

/* The lane's device failed: close it first, for it may still write into what it held. */
static void lane_give_up(lane_run *run, bm_status status, const bm_error *error)
{
    bm_backend *backend = run->lane->backend;
    bm_error none = {0};
    backend->ops->drain(backend, NULL);
    if (backend->stuck)
        lane_leave(run, &none);
    backend->ops->close(backend);
    run->lane->backend = NULL;
    run->error = *error;
    run->status = bm_engine_lane_failed(run->f->cfg->engine, run->lane, status, &run->error);
    lane_replace(run);
}

static void lane_submit(lane_run *run, bm_flow_batch *batch)
{
    bm_error error = {0};
    bm_backend *backend = run->lane->backend;
    run->in_flight[run->n++] = batch;
    if (run->lane->dead) {
        lane_replace(run);
        return;
    }
    bm_status status = backend->ops->submit(backend, &batch->task, &error);
    if (status == BM_ERR_UNSUPPORTED && batch->as_text) { /* a text beyond the device's buffers */
        status = bm_flow_text_hash(batch, run->lane->shingler, &error);
        if (status == BM_OK)
            status = bm_flow_batch_task(run->f->cfg, batch, &error);
        if (status == BM_OK)
            status = backend->ops->submit(backend, &batch->task, &error);
    }
    if (status != BM_OK)
        lane_give_up(run, status, &error);
}

static void lane_finish_oldest(lane_run *run)
{
    bm_error error = {0};
    bm_backend *backend = run->lane->backend;
    bm_flow_batch *batch = run->in_flight[0];
    bm_status status = backend->ops->wait(backend, &batch->task, &error);
    if (status == BM_OK)
        status = bm_engine_check(run->f->cfg->engine, run->lane, &batch->task, &error);
    if (status != BM_OK) {
        lane_give_up(run, status, &error);
        return;
    }
    if (batch->as_text)
        batch->status =
            bm_flow_text_finish(run->f->cfg->engine, batch, run->lane->shingler, &batch->error);
    run->lane->n_docs += batch->n_docs;
    run->n--;
    memmove(run->in_flight, run->in_flight + 1, run->n * sizeof run->in_flight[0]);
    deliver(run->f, batch);
}

static bm_status run_lane(flow *f, bm_lane *lane)
{
    lane_run run = {.f = f, .lane = lane};
    uint32_t depth = lane->dead || lane->backend->depth < 1 ? 1 : lane->backend->depth;
    if (depth > LANE_DEPTH_MAX)
        depth = LANE_DEPTH_MAX;
    void *item;
    bm_flow_times times = {0};
    double mark = bm_clock_seconds();
    for (;;) {
        if (run.n == 0) {
            bool more = bm_queue_pop(f->queue, &item);
            lap(&times.idle, &mark);
            if (!more)
                break;
            lane_submit(&run, item);
        } else if (run.n < depth && bm_queue_try_pop(f->queue, &item)) {
            lane_submit(&run, item);
        } else {
            lane_finish_oldest(&run);
        }
        lap(&times.device, &mark);
    }
    add_times(f, &times);
    return BM_OK;
}

static bm_status run_thread(void *ctx, uint32_t thread, bm_error *err)
{
    (void)err;
    flow *f = ctx;
    if (thread < f->n_workers)
        return work(f);
    return run_lane(f, &f->cfg->engine->lanes[thread - f->n_workers]);
}

/* --- opening and closing --- */

static bm_status flow_open(const bm_flow_cfg *cfg, flow *f, bm_error *err)
{
    memset(f, 0, sizeof *f);
    f->cfg = cfg;
    f->began = bm_clock_seconds();
    f->n_workers = cfg->threads;
    atomic_store(&f->workers_left, f->n_workers);
    size_t n_lanes = cfg->engine != NULL ? cfg->engine->n_lanes : 0;
    f->window = bm_budget_window(cfg->threads, (uint32_t)n_lanes);
    pthread_mutex_init(&f->read_lock, NULL);
    pthread_mutex_init(&f->order_lock, NULL);
    pthread_cond_init(&f->moved, NULL);
    f->ring = bm_alloc_zero(f->window, sizeof *f->ring);
    f->free = bm_alloc_zero(f->window, sizeof *f->free);
    if (f->ring == NULL || f->free == NULL)
        return bm_fail_nomem(err, f->window * sizeof *f->ring);
    bm_status status = BM_OK;
    if (n_lanes > 0)
        status = bm_queue_open(2 * n_lanes, &f->queue, err);
    if (status == BM_OK)
        status = bm_flow_source_open(cfg, f->window, &f->source, err);
    return status;
}

static void flow_close(flow *f)
{
    void *item;
    while (f->queue != NULL && bm_queue_drain(f->queue, &item))
        bm_flow_batch_free(item);
    bm_queue_free(f->queue);
    for (uint64_t i = 0; f->ring != NULL && i < f->window; i++)
        bm_flow_batch_free(f->ring[i]);
    for (size_t i = 0; i < f->n_free; i++)
        bm_flow_batch_free(f->free[i]);
    bm_free(f->ring);
    bm_free(f->free);
    bm_flow_source_close(&f->source);
    pthread_cond_destroy(&f->moved);
    pthread_mutex_destroy(&f->order_lock);
    pthread_mutex_destroy(&f->read_lock);
}

bm_status bm_flow_run(const bm_flow_cfg *cfg, bm_error *err)
{
    flow f;
    bm_pool *pool = NULL;
    bm_status status = flow_open(cfg, &f, err);
    size_t n_lanes = cfg->engine != NULL ? cfg->engine->n_lanes : 0;
    if (status == BM_OK)
        status = bm_pool_open(f.n_workers + (uint32_t)n_lanes, &pool, err);
    if (status == BM_OK) {
        bm_pool_run(pool, run_thread, &f, NULL);
        status = f.status;
        if (status != BM_OK && err != NULL)
            *err = f.error;
    }
    f.times.elapsed = bm_clock_seconds() - f.began;
    f.times.workers = f.n_workers;
    f.times.lanes = (uint32_t)n_lanes;
    if (cfg->times != NULL)
        *cfg->times = f.times;
    bm_pool_close(pool);
    flow_close(&f);
    return status;
}

const char *bm_flow_bottleneck(const bm_flow_times *times)
{
    const double workers = times->workers > 0 ? times->workers : 1;
    const double lanes = times->lanes > 0 ? times->lanes : 1;
    const struct {
        const char *name;
        double busy; /* of one thread that may do it */
    } stages[] = {{"read", times->read},
                  {"text", times->text / workers},
                  {"sign", times->sign / workers},
                  {"device", times->device / lanes},
                  {"deliver", times->deliver}};
    size_t most = 0;
    for (size_t i = 1; i < sizeof stages / sizeof stages[0]; i++)
        if (stages[i].busy > stages[most].busy)
            most = i;
    return stages[most].name;
}
