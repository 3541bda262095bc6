/* ingest_order.c -- see the header.
 *
 * Tests: tests/unit/sign/test_ingest_order.c, tests/unit/sign/test_ingest_read.c */
#include "sign/ingest_order.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sign/ingest_batch.h"
#include "sign/ingest_deliver.h"

bm_status bm_ingest_order_open(const bm_ingest_cfg *cfg, uint64_t window, bm_ingest_order *out,
                               bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->cfg = cfg;
    out->window = window;
    pthread_mutex_init(&out->lock, NULL);
    pthread_cond_init(&out->moved, NULL);
    if (cfg->budget != NULL && cfg->budget->total != 0)
        out->shares = (bm_ingest_shares){.all = bm_budget_batches(cfg->budget),
                                         .batch = bm_budget_batches(cfg->budget) / window};
    out->ring = bm_alloc_zero(window, sizeof *out->ring);
    out->free = bm_alloc_zero(window, sizeof *out->free);
    if (out->ring == NULL || out->free == NULL)
        return bm_fail_nomem(err, window * sizeof *out->ring);
    return BM_OK;
}

void bm_ingest_order_close(bm_ingest_order *order)
{
    for (uint64_t i = 0; order->ring != NULL && i < order->window; i++)
        bm_ingest_batch_free(order->ring[i]);
    for (size_t i = 0; i < order->n_free; i++)
        bm_ingest_batch_free(order->free[i]);
    bm_free(order->ring);
    bm_free(order->free);
    pthread_cond_destroy(&order->moved);
    pthread_mutex_destroy(&order->lock);
}

void bm_ingest_order_fail(bm_ingest_order *order, uint64_t n, bm_status status,
                          const bm_error *error)
{
    pthread_mutex_lock(&order->lock);
    if (order->status == BM_OK || n < order->failed) {
        order->status = status;
        order->error = *error;
        order->failed = n;
    }
    order->stop = true;
    pthread_cond_broadcast(&order->moved);
    pthread_mutex_unlock(&order->lock);
    if (order->queue != NULL)
        bm_queue_abort(order->queue);
}

bm_ingest_batch *bm_ingest_order_new_batch(bm_ingest_order *order)
{
    bm_ingest_batch *batch = NULL;
    pthread_mutex_lock(&order->lock);
    if (order->n_free > 0)
        batch = order->free[--order->n_free];
    pthread_mutex_unlock(&order->lock);
    return batch != NULL ? batch : bm_alloc_zero(1, sizeof *batch);
}

/* The lock is held. */
static void leave(bm_ingest_order *order, bm_ingest_share *share)
{
    order->shares.taken -= share->cost;
    if (share->alone)
        order->shares.alone = 0;
    *share = (bm_ingest_share){0};
}

/* The batch is dealt with, whatever came of it. The lock is held. */
static void put_back(bm_ingest_order *order, bm_ingest_batch *batch)
{
    const bm_ingest_share *share = &batch->turn.share;
    const bool stays = !share->alone && share->cost <= order->shares.batch;
    leave(order, &batch->turn.share);
    bm_ingest_batch_clear(batch);
    if (order->n_free < order->window && stays)
        order->free[order->n_free++] = batch;
    else
        bm_ingest_batch_free(batch);
    order->done++;
    pthread_cond_broadcast(&order->moved);
}

/* Do so many bytes of the share of batches fit beside what is in flight before batch number n? Who
 * is first always fits. The lock is held. */
static bool fits(const bm_ingest_order *order, uint64_t n, uint64_t bytes)
{
    const bm_ingest_shares *shares = &order->shares;
    return n == order->done || shares->all == 0 ||
           (n - order->done) * shares->batch + shares->taken + bytes <= shares->all;
}

/* May batch number n be read now? The lock is held. */
static bool may_read(const bm_ingest_order *order, uint64_t n)
{
    const bm_ingest_shares *shares = &order->shares;
    return n - order->done < order->window &&
           (shares->taken == 0 || fits(order, n, shares->batch)) &&
           (shares->alone == 0 || n < shares->alone);
}

void bm_ingest_order_leave(bm_ingest_order *order, bm_ingest_share *share)
{
    pthread_mutex_lock(&order->lock);
    leave(order, share);
    pthread_mutex_unlock(&order->lock);
}

static bm_ingest_batch **place_of(bm_ingest_order *order, uint64_t n)
{
    return &order->ring[n % order->window];
}

/* The first batch that waits to be put. The lock is held, but not while it is put. */
static void put_one(bm_ingest_order *order)
{
    const bm_ingest_put *put = &order->cfg->put;
    bm_ingest_batch **place = place_of(order, order->put++), *batch = *place;
    *place = NULL;
    if (put->fn != NULL && batch->n_docs > 0) {
        pthread_mutex_unlock(&order->lock);
        bm_error error = {0};
        double mark = bm_clock_seconds(), spent = 0;
        const bm_status status = put->fn(put->ctx, batch, batch->turn.first_row, &error);
        if (status != BM_OK)
            bm_ingest_order_fail(order, batch->turn.sequence, status, &error);
        bm_ingest_lap(&spent, &mark);
        pthread_mutex_lock(&order->lock);
        order->times.put += spent;
        order->put_failed = order->put_failed || status != BM_OK;
        if (status != BM_OK && order->cfg->places != NULL)
            order->cfg->places->sink_failed = true;
    }
    put_back(order, batch);
}

static bool may_put(bm_ingest_order *order)
{
    return order->put < order->next && *place_of(order, order->put) != NULL;
}

/* Put all that was delivered, and wait for what others put. The lock is held, but not meanwhile. */
static void put_all(bm_ingest_order *order)
{
    while (order->done < order->next) {
        if (may_put(order))
            put_one(order);
        else
            pthread_cond_wait(&order->moved, &order->lock);
    }
}

/* Is the batch whose turn it is there? Its place may have one that was delivered before. */
static bool may_deliver(bm_ingest_order *order)
{
    const bm_ingest_batch *batch = *place_of(order, order->next);
    return !order->delivering && !order->stop && batch != NULL &&
           batch->turn.sequence == order->next;
}

/* What is due between two batches. Nobody else delivers. The lock is held, but not meanwhile. */
static void pause_if_due(bm_ingest_order *order)
{
    const bm_ingest_pause *pause = &order->cfg->pause;
    if (pause->is_due == NULL || !pause->is_due(pause->ctx))
        return;
    put_all(order);
    if (order->stop)
        return;
    pthread_mutex_unlock(&order->lock);
    pause->fn(pause->ctx);
    pthread_mutex_lock(&order->lock);
}

/* All that was delivered is put before a batch whose places move, or one that failed. Nobody else
 * delivers. False: what was put has failed, and is told. */
static bool settle(bm_ingest_order *order, const bm_ingest_batch *batch)
{
    const bm_ingest_put *put = &order->cfg->put;
    if (batch->status == BM_OK && (put->moves == NULL || !put->moves(put->ctx, batch)))
        return true;
    pthread_mutex_lock(&order->lock);
    put_all(order);
    const bool go = !order->put_failed;
    pthread_mutex_unlock(&order->lock);
    return go;
}

/* Nobody else delivers. */
static bm_status deliver(bm_ingest_order *order, bm_ingest_batch *batch, bm_error *err)
{
    if (batch->status != BM_OK && !settle(order, batch))
        return BM_ERR_CANCELLED;
    BM_TRY(bm_ingest_batch_deliver(order->cfg, batch, err));
    return settle(order, batch) ? bm_ingest_batch_sink(order->cfg, batch, err) : BM_ERR_CANCELLED;
}

/* The batch whose turn it is. The lock is held, but not while it is delivered. */
static void deliver_one(bm_ingest_order *order)
{
    bm_ingest_batch **place = place_of(order, order->next), *batch = *place;
    order->delivering = true;
    pthread_mutex_unlock(&order->lock);
    bm_error error = {0};
    double mark = bm_clock_seconds(), spent = 0;
    const bm_status status = deliver(order, batch, &error);
    if (status != BM_OK)
        bm_ingest_order_fail(order, batch->turn.sequence, status, &error);
    bm_ingest_lap(&spent, &mark);
    pthread_mutex_lock(&order->lock);
    order->times.deliver += spent;
    order->next++;
    if (status == BM_OK) {
        pause_if_due(order);
    } else { /* it is not put, and nothing behind it is delivered */
        *place = NULL;
        put_back(order, batch);
    }
    order->delivering = false;
    pthread_cond_broadcast(
        &order->moved); /* who delivered may have other things to do than the next */
}

/* Deliver or put a batch, if one can be. The lock is held, but not meanwhile. */
static bool help(bm_ingest_order *order)
{
    if (may_deliver(order))
        deliver_one(order);
    else if (may_put(order))
        put_one(order);
    else
        return false;
    return true;
}

static void help_or_wait(bm_ingest_order *order)
{
    if (!help(order))
        pthread_cond_wait(&order->moved, &order->lock);
}

bool bm_ingest_order_wait(bm_ingest_order *order, uint64_t n)
{
    pthread_mutex_lock(&order->lock);
    while (!order->stop && !may_read(order, n))
        help_or_wait(order);
    bool go = !order->stop;
    pthread_mutex_unlock(&order->lock);
    return go;
}

bool bm_ingest_order_share(bm_ingest_order *order, uint64_t n, bm_ingest_share *share,
                           uint64_t cost)
{
    const uint64_t more = cost > share->cost ? cost - share->cost : 0;
    pthread_mutex_lock(&order->lock);
    while (!order->stop && !fits(order, n, more))
        help_or_wait(order);
    bool go = !order->stop;
    order->shares.taken += more;
    share->cost += more;
    pthread_mutex_unlock(&order->lock);
    return go;
}

bool bm_ingest_order_alone(bm_ingest_order *order, uint64_t n, bm_ingest_share *share)
{
    pthread_mutex_lock(&order->lock);
    while (!order->stop && order->done != n)
        help_or_wait(order);
    bool go = !order->stop;
    order->shares.taken -= share->cost;
    order->shares.alone = n + 1;
    *share = (bm_ingest_share){.alone = true};
    while (order->n_free > 0)
        bm_ingest_batch_free(order->free[--order->n_free]);
    pthread_mutex_unlock(&order->lock);
    return go;
}

void bm_ingest_order_place(bm_ingest_order *order, bm_ingest_batch *batch)
{
    pthread_mutex_lock(&order->lock);
    *place_of(order, batch->turn.sequence) = batch;
    pthread_cond_broadcast(&order->moved);
    pthread_mutex_unlock(&order->lock);
}

void bm_ingest_order_deliver(bm_ingest_order *order, bm_ingest_batch *batch)
{
    pthread_mutex_lock(&order->lock);
    if (batch != NULL)
        *place_of(order, batch->turn.sequence) = batch;
    while (help(order))
        ;
    pthread_mutex_unlock(&order->lock);
}

void bm_ingest_order_finish(bm_ingest_order *order, uint64_t n)
{
    pthread_mutex_lock(&order->lock);
    while (may_put(order) || (!order->stop && order->done < n))
        help_or_wait(order);
    pthread_mutex_unlock(&order->lock);
}

void bm_ingest_order_add_times(bm_ingest_order *order, const bm_ingest_times *times)
{
    pthread_mutex_lock(&order->lock);
    bm_ingest_times_add(&order->times, times);
    pthread_mutex_unlock(&order->lock);
}
