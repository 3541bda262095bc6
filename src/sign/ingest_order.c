/* ingest_order.c -- see the header.
 *
 * Tests: tests/unit/sign/test_ingest_order.c, tests/unit/sign/test_ingest_read.c,
 *        tests/unit/sign/test_ingest_times.c */
#include "sign/ingest_order.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/counts.h"
#include "sign/ingest_cfg.h"

void bm_ingest_times_add(bm_ingest_times *all, const bm_ingest_times *thread)
{
    all->read += thread->read;
    all->fill += thread->fill;
    all->text += thread->text;
    all->sign += thread->sign;
    all->device += thread->device;
    all->deliver += thread->deliver;
    all->put += thread->put;
    all->wait += thread->wait;
    all->idle += thread->idle;
}

const char *bm_ingest_bottleneck(const bm_ingest_times *times)
{
    const double workers = times->workers > 0 ? times->workers : 1;
    const double device_workers = times->device_workers > 0 ? times->device_workers : 1;
    const struct {
        const char *name;
        double busy; /* of one thread that may do it */
    } stages[] = {{"read", times->read + times->fill / workers},
                  {"text", times->text / workers},
                  {"sign", times->sign / workers},
                  {"device", times->device / device_workers},
                  {"deliver", times->deliver},
                  {"put", times->put / workers}};
    size_t most = 0;
    for (size_t i = 1; i < sizeof stages / sizeof stages[0]; i++)
        if (stages[i].busy > stages[most].busy)
            most = i;
    return stages[most].name;
}

void bm_ingest_batch_drop_raw(const bm_ingest_cfg *cfg, bm_ingest_batch *batch)
{
    bm_batch_source_free_batch(cfg->source, batch->raw);
    batch->raw = NULL;
}

/* Outputs that the place has for those of the batch, or back. */
static void exchange(bm_ingest_batch *batch)
{
    bm_staged *staged = batch->task.staged;
    bm_sign_task *task = &batch->task;
    batch->in_place = !batch->in_place;
    if (staged->words != NULL) {
        batch->words = staged->words;
        staged->words = task->words;
        task->words = batch->words;
    }
    if (staged->keys != NULL) {
        batch->keys = staged->keys;
        staged->keys = task->keys;
        task->keys = batch->keys;
    }
}

void bm_ingest_batch_read_in_place(bm_ingest_batch *batch)
{
    if (batch->task.staged != NULL)
        exchange(batch);
}

void bm_ingest_batch_unstage(bm_ingest_batch *batch)
{
    bm_staged *staged = batch->task.staged;
    if (staged == NULL)
        return;
    if (batch->in_place)
        exchange(batch);
    batch->task.staged = NULL;
    staged->backend->ops->unstage(staged);
}

void bm_ingest_batch_clear(bm_ingest_batch *batch)
{
    bm_ingest_batch_unstage(batch);
    batch->ids.len = 0;
    batch->keep_keys.len = 0;
    for (size_t i = 0; i < batch->n_skipped; i++)
        bm_free(batch->skipped[i].reason);
    batch->n_docs = batch->n_skipped = 0;
    batch->n_invalid = 0;
    if (batch->shared_with_device) {
        memset(&batch->shingles, 0, sizeof batch->shingles);
        memset(&batch->text, 0, sizeof batch->text);
        batch->shared_with_device = false;
    }
    bm_shingle_batch_clear(&batch->shingles);
    bm_text_batch_clear(&batch->text);
    batch->as_text = false;
    batch->status = BM_OK;
}

void bm_ingest_batch_free(bm_ingest_batch *batch)
{
    if (batch == NULL)
        return;
    bm_ingest_batch_clear(batch);
    bm_buf_reset(&batch->ids);
    bm_buf_reset(&batch->keep_keys);
    bm_shingle_batch_reset(&batch->shingles);
    bm_text_batch_reset(&batch->text);
    bm_free(batch->made.n_shingles);
    bm_free(batch->made.content);
    bm_free(batch->docs);
    bm_free(batch->skipped);
    bm_free(batch->words);
    bm_free(batch->keys);
    bm_free(batch);
}

bm_status bm_ingest_batch_make_task(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err)
{
    const bm_device_set *device_set = cfg->device_set;
    const bool as_text = batch->as_text;
    bm_status status = BM_OK;
    bm_ingest_batch_unstage(batch);
    if (cfg->want_words)
        BM_TRY_OUT(bm_grow(&batch->words, &batch->capacity.words,
                           batch->n_docs * device_set->row_uints, sizeof *batch->words, err));
    if (cfg->want_keys)
        BM_TRY_OUT(bm_grow(&batch->keys, &batch->capacity.keys, batch->n_docs * device_set->bands,
                           sizeof *batch->keys, err));
    if (as_text)
        BM_TRY_OUT(bm_grow(&batch->made.n_shingles, &batch->capacity.n_shingles, batch->n_docs,
                           sizeof *batch->made.n_shingles, err));
    if (as_text)
        BM_TRY_OUT(bm_grow(&batch->made.content, &batch->capacity.content, batch->n_docs,
                           sizeof *batch->made.content, err));
out:
    batch->task = (bm_sign_task){.offsets = as_text ? batch->text.slots : batch->shingles.offsets,
                                 .hashes = as_text ? NULL : batch->shingles.hashes,
                                 .weights = as_text ? NULL : batch->shingles.weights,
                                 .text = as_text ? &batch->text : NULL,
                                 .n_shingles = batch->made.n_shingles,
                                 .content = as_text ? batch->made.content : NULL,
                                 .n_docs = batch->n_docs,
                                 .words = cfg->want_words ? batch->words : NULL,
                                 .keys = cfg->want_keys ? batch->keys : NULL};
    return status;
}

bm_ingest_batch *bm_ingest_batch_replace(const bm_ingest_batch *batch)
{
    bm_ingest_batch *other = bm_alloc(1, sizeof *other);
    if (other == NULL)
        return NULL;
    *other = *batch;
    other->words = NULL;
    other->keys = NULL;
    other->made = (bm_ingest_made){0};
    other->capacity.words = other->capacity.keys = other->capacity.n_shingles =
        other->capacity.content = 0;
    other->task.staged = NULL; /* for good: the device may write there */
    other->shared_with_device = true;
    return other;
}

#define WARNINGS_MAX 5u  /* of one kind */
#define IDS_AHEAD    16u /* documents between fetching from the table of ids and looking */

static uint64_t sum_shingles(const bm_ingest_batch *batch)
{
    uint64_t n = 0;
    for (size_t i = 0; i < batch->n_docs; i++)
        n += batch->docs[i].row.n_shingles;
    return n;
}

static bm_status deliver_docs(const bm_ingest_cfg *cfg, const bm_ingest_batch *batch, bm_error *err)
{
    for (size_t i = 0; cfg->docs != NULL && i < batch->n_docs; i++) {
        const bm_ingest_doc *doc = &batch->docs[i];
        if (i + IDS_AHEAD < batch->n_docs)
            bm_doc_table_expect(cfg->docs, batch->docs[i + IDS_AHEAD].id_hash);
        bm_str id = {doc->id_len > 0 ? batch->ids.data + doc->id_begin : "", doc->id_len};
        BM_TRY(bm_doc_table_add(cfg->docs, &doc->row, (bm_doc_id){id, doc->id_hash},
                                bm_batch_source_file(cfg->source, doc->row.file), err));
    }
    return BM_OK;
}

/* It is the nth that is reported. */
static void warn_of_skipped(const bm_ingest_cfg *cfg, const bm_skipped *skipped, uint64_t nth)
{
    bm_meter_log(cfg->meter, BM_LOG_WARNING, "%s:%" PRIu64 ": skipped: %s%s",
                 bm_batch_source_file(cfg->source, skipped->file), skipped->line, skipped->reason,
                 nth == WARNINGS_MAX ? "; no more of these are reported" : "");
}

/* One skipped record may be most of a file where a quote is never closed: so the first few are
 * reported at once. */
static void warn_of_swallowed(const bm_ingest_cfg *cfg, const bm_skipped *skipped)
{
    if (skipped->n_behind > 0 && cfg->docs->n_swallowing <= WARNINGS_MAX)
        warn_of_skipped(cfg, skipped, cfg->docs->n_swallowing);
}

static bm_status deliver_skipped(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err)
{
    for (size_t i = 0; i < batch->n_skipped; i++) {
        bm_skipped *skipped = &batch->skipped[i];
        if (cfg->counts->skipped >= cfg->input->max_errors)
            return bm_fail_at(err, BM_ERR_INPUT, bm_batch_source_file(cfg->source, skipped->file),
                              skipped->line,
                              "%s (more than %" PRIu64 " bad records, see `max_errors`)",
                              skipped->reason, cfg->input->max_errors);
        if (cfg->docs != NULL) {
            BM_TRY(bm_doc_table_skip(cfg->docs, skipped, err));
            warn_of_swallowed(cfg, skipped);
            skipped->reason = NULL;                       /* taken */
        } else if (cfg->counts->skipped < WARNINGS_MAX) { /* there is no list of them */
            warn_of_skipped(cfg, skipped, cfg->counts->skipped + 1);
        }
        cfg->counts->skipped++;
        cfg->counts->records++;
    }
    return BM_OK;
}

bm_status bm_ingest_batch_deliver(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err)
{
    const size_t first_row = cfg->docs != NULL ? cfg->docs->n : 0;
    const size_t first_skipped = cfg->docs != NULL ? cfg->docs->n_skipped : 0;
    const bm_counts before = *cfg->counts;
    bm_status status = deliver_docs(cfg, batch, err);
    if (status == BM_OK)
        status = deliver_skipped(cfg, batch, err);
    if (status == BM_OK && batch->status != BM_OK && cfg->docs == NULL && cfg->sink != NULL)
        status =
            cfg->sink(cfg->sink_ctx, batch, first_row, err); /* what is wrong with them first */
    if (status == BM_OK && batch->status != BM_OK) {
        status = batch->status;
        if (err != NULL)
            *err = batch->error;
    }
    if (status != BM_OK) { /* what was delivered before can be sealed */
        if (cfg->docs != NULL)
            bm_doc_table_cut(cfg->docs, first_row, first_skipped);
        *cfg->counts = before;
        return status;
    }
    batch->turn.first_row = first_row;
    bm_counts *counts = cfg->counts;
    bm_counts_add_docs(counts,
                       &(bm_doc_counts){.n = batch->n_docs,
                                        .n_empty = batch->shingles.n_empty + batch->text.n_empty,
                                        .n_short = batch->shingles.n_short + batch->text.n_short,
                                        .n_weightless = batch->shingles.n_weightless,
                                        .n_invalid = batch->n_invalid,
                                        .n_shingles = sum_shingles(batch)});
    return BM_OK;
}

bm_status bm_ingest_batch_sink(const bm_ingest_cfg *cfg, const bm_ingest_batch *batch,
                               bm_error *err)
{
    bm_status status = BM_OK;
    if (cfg->sink != NULL)
        status = cfg->sink(cfg->sink_ctx, batch, batch->turn.first_row, err);
    if (cfg->places != NULL && status == BM_OK)
        cfg->places->last = batch->turn.place;
    else if (cfg->places != NULL)
        cfg->places->sink_failed = true;
    bm_meter_progress(cfg->meter, batch->turn.bytes_read, bm_batch_source_total_bytes(cfg->source),
                      cfg->counts->documents);
    return status;
}

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
static void release_share(bm_ingest_order *order, bm_ingest_share *share)
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
    release_share(order, &batch->turn.share);
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

void bm_ingest_order_release(bm_ingest_order *order, bm_ingest_share *share)
{
    pthread_mutex_lock(&order->lock);
    release_share(order, share);
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

/* Call cfg.pause where it is due. Nobody else delivers. The lock is held, but not meanwhile. */
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

/* Put all that was delivered before a batch whose places move, or one that failed. Nobody else
 * delivers. False: that failed, and the failure was reported. */
static bool put_before(bm_ingest_order *order, const bm_ingest_batch *batch)
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
    if (batch->status != BM_OK && !put_before(order, batch))
        return BM_ERR_CANCELLED;
    BM_TRY(bm_ingest_batch_deliver(order->cfg, batch, err));
    return put_before(order, batch) ? bm_ingest_batch_sink(order->cfg, batch, err)
                                    : BM_ERR_CANCELLED;
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
