/* index_feed.c -- two places, a mutex, and who waits for whom.
 *
 * The library of the store wants each transaction on one thread, and threads of the ingest come and go: so
 * the caller's own thread adds, and a thread is started that reads.
 *
 * Tests: tests/unit/index/test_index_feed.c, tests/cli/cases/index_add.sh */
#include "index/index_feed.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"

typedef struct exchange {
    bm_index_feed *feed;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t moved;
    /* Each of the two is one of these, or in the hands of the caller's thread. */
    bm_gathered *filling, *ready, *spare;
    bool taking; /* it has one */
    bool ended, stopped;
    bm_status status; /* of the ingest, once it has ended */
    bm_error error;
} exchange;

static bool is_full(const bm_index_feed *feed, const bm_gathered *g)
{
    return g->n > 0 && (bm_gathered_is_full(g, &feed->shape, feed->full_bytes) ||
                        g->input_bytes >= feed->full_input || g->n >= BM_DOCS_MAX / 2);
}

static bm_gathered *take_filling(exchange *x)
{
    bm_gathered *g = x->filling;
    x->filling = x->spare;
    x->spare = NULL;
    return g;
}

/* --- the thread that reads --- */

static void wait_for_place(exchange *x)
{
    while (!x->stopped && x->filling == NULL)
        pthread_cond_wait(&x->moved, &x->lock);
}

static void hand_over(exchange *x)
{
    while (!x->stopped && x->ready != NULL)
        pthread_cond_wait(&x->moved, &x->lock);
    if (x->stopped)
        return;
    x->ready = take_filling(x);
    pthread_cond_broadcast(&x->moved);
}

/* Wait for a place, and put the batch there; one that fails goes behind the others, alone. */
static bm_status on_batch(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    (void)first_row;
    exchange *x = ctx;
    bm_status status = BM_OK;
    pthread_mutex_lock(&x->lock);
    wait_for_place(x);
    if (!x->stopped && batch->status != BM_OK && x->filling->n > 0) {
        hand_over(x);
        wait_for_place(x);
    }
    if (x->stopped)
        BM_TRY_OUT(bm_fail(err, BM_ERR_CANCELLED, "stopped"));
    else
        BM_TRY_OUT(bm_gathered_add(x->filling, &x->feed->shape, batch, err));
    x->filling->records = x->feed->job->counts.records;
    pthread_cond_broadcast(&x->moved); /* it may be due */
    if (is_full(x->feed, x->filling))
        hand_over(x);
out:
    pthread_mutex_unlock(&x->lock);
    return status;
}

/* A long document is read: what was gathered before goes first, and it will stand twice in memory. */
static bm_status make_room(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err)
{
    (void)wanted, (void)err;
    exchange *x = ctx;
    const bm_budget *budget = &x->feed->job->budget;
    pthread_mutex_lock(&x->lock);
    while (!x->stopped && (x->ready != NULL || x->taking))
        pthread_cond_wait(&x->moved, &x->lock);
    pthread_mutex_unlock(&x->lock);
    *free = budget->total == 0 ? UINT64_MAX : (budget->total - budget->fixed) / 2;
    return BM_OK;
}

static void *read_all(void *arg)
{
    exchange *x = arg;
    bm_error error = {0};
    const bm_ingest_wish wish = {.words = !x->feed->shape.sets,
                                 .keys = true,
                                 .no_table = true,
                                 .sink = on_batch,
                                 .sink_ctx = x,
                                 .room = make_room,
                                 .room_ctx = x};
    const bm_status status = bm_job_context_ingest(x->feed->job, &wish, &error);
    pthread_mutex_lock(&x->lock);
    x->ended = true;
    x->status = status;
    x->error = error;
    pthread_cond_broadcast(&x->moved);
    pthread_mutex_unlock(&x->lock);
    return NULL;
}

/* --- the thread that adds --- */

/* Until `deadline`, or something has moved; false: it is past. */
static bool wait_until(exchange *x, double deadline)
{
    struct timespec at;
    const double left = deadline - bm_clock_seconds();
    if (left <= 0)
        return false;
    clock_gettime(CLOCK_REALTIME, &at);
    const double end = (double)at.tv_nsec * 1e-9 + left;
    at.tv_sec += (time_t)end;
    at.tv_nsec = (long)((end - (double)(time_t)end) * 1e9);
    pthread_cond_timedwait(&x->moved, &x->lock, &at);
    return true;
}

/* What is to be added next; NULL: all was. */
static bm_gathered *next(exchange *x)
{
    bm_gathered *g = NULL;
    const double *due = x->feed->due;
    pthread_mutex_lock(&x->lock);
    for (bool in_time = due != NULL; x->ready == NULL && !x->ended;) {
        if (due != NULL && !in_time && x->filling != NULL && x->filling->n > 0)
            break;
        if (in_time)
            in_time = wait_until(x, *due);
        else
            pthread_cond_wait(&x->moved, &x->lock);
    }
    if (x->ready != NULL) {
        g = x->ready;
        x->ready = NULL;
    } else if (x->filling != NULL && x->filling->n > 0) {
        g = take_filling(x);
    }
    x->taking = g != NULL;
    pthread_cond_broadcast(&x->moved);
    pthread_mutex_unlock(&x->lock);
    return g;
}

/* It was added: it is free for what follows. */
static void give_back(exchange *x, bm_gathered *g, bm_status status)
{
    bm_gathered_clear(g);
    if (bm_gathered_bytes(g) > 2 * x->feed->full_bytes) /* a long document made it large */
        bm_gathered_reset(g);
    pthread_mutex_lock(&x->lock);
    x->taking = false;
    x->stopped = status != BM_OK;
    if (x->filling == NULL)
        x->filling = g;
    else
        x->spare = g;
    pthread_cond_broadcast(&x->moved);
    pthread_mutex_unlock(&x->lock);
}

static bm_status take_all(exchange *x, bm_error *err)
{
    const bm_index_feed *feed = x->feed;
    bm_status status = BM_OK;
    bm_gathered *g;
    while (status == BM_OK && (g = next(x)) != NULL) {
        status = bm_meter_check(&feed->job->meter, err);
        if (status == BM_OK)
            status = bm_gathered_settle(g, &feed->shape, feed->job->pool, err);
        if (status == BM_OK)
            status = feed->take(feed->take_ctx, g, err);
        give_back(x, g, status);
    }
    if (status != BM_OK)
        bm_meter_stop(&feed->job->meter); /* who waits for input is to give up */
    return status;
}

bm_status bm_index_feed_run(bm_index_feed *feed, bm_error *err)
{
    bm_gathered two[2] = {0};
    exchange x = {.feed = feed, .filling = &two[0], .spare = &two[1]};
    pthread_t thread;
    pthread_mutex_init(&x.lock, NULL);
    pthread_cond_init(&x.moved, NULL);
    const int code = bm_thread_start(&thread, read_all, &x);
    bm_status status =
        code == 0 ? take_all(&x, err) : bm_fail_errno(err, code, NULL, "cannot start a thread");
    if (code == 0)
        pthread_join(thread, NULL);
    if (status == BM_OK && x.status != BM_OK) {
        status = x.status;
        if (err != NULL)
            *err = x.error;
    }
    pthread_cond_destroy(&x.moved);
    pthread_mutex_destroy(&x.lock);
    bm_gathered_reset(&two[0]);
    bm_gathered_reset(&two[1]);
    return status;
}
