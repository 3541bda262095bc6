/* SPDX-License-Identifier: Apache-2.0 */
/* ingest_order.c -- the ring of batches, and the steps of each batch (ingest_order.h). "The lock is
 * held" means that the caller of the function holds order->lock.
 *
 * Tests: tests/unit/sign/test_ingest_order.c, tests/unit/sign/test_ingest_read.c,
 *        tests/unit/sign/test_ingest_times.c */
#include "sign/ingest_order.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "input/record_rules.h"
#include "model/counts.h"
#include "sign/doc_copies.h"
#include "sign/ingest_cfg.h"

/* Add the times of one thread to the sums. */
static void ingest_times_add(bm_ingest_times *all, const bm_ingest_times *thread)
{
    all->read += thread->read;
    all->fill += thread->fill;
    all->text += thread->text;
    all->sign += thread->sign;
    all->device += thread->device;
    all->deliver += thread->deliver;
    all->enter += thread->enter;
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
        double busy; /* seconds, divided by the number of threads that can do the step */
    } stages[] = {{"read", times->read + times->fill / workers},
                  {"text", times->text / workers},
                  {"sign", times->sign / workers},
                  {"device", times->device / device_workers},
                  {"deliver", times->deliver},
                  {"enter", times->enter / workers},
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

/* Swap the output arrays of the batch with the arrays of the place where it is staged. A second
 * call swaps them back. */
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

/* Empty the batch, but keep its memory. Its raw batch must have been dropped. */
static void ingest_batch_clear(bm_ingest_batch *batch)
{
    bm_ingest_batch_unstage(batch);
    batch->ids.len = 0;
    batch->keep_keys.len = 0;
    batch->scanned.len = 0;
    batch->parts.len = 0;
    for (size_t i = 0; i < batch->n_skipped; i++)
        bm_free(batch->skipped[i].reason);
    batch->n_docs = batch->n_skipped = 0;
    batch->nameless = false;
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
    ingest_batch_clear(batch);
    bm_buf_reset(&batch->ids);
    bm_buf_reset(&batch->keep_keys);
    bm_buf_reset(&batch->scanned);
    bm_buf_reset(&batch->parts);
    bm_shingle_batch_reset(&batch->shingles);
    bm_text_batch_reset(&batch->text);
    bm_free(batch->made.n_shingles);
    bm_free(batch->made.content);
    bm_free(batch->entry.ids.docs);
    bm_free(batch->copies.contents.docs);
    bm_free(batch->docs);
    bm_free(batch->texts);
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
    other->task.staged = NULL; /* the place stays staged, since the device may still write there */
    other->shared_with_device = true;
    return other;
}

#define WARNINGS_MAX 5u  /* most warnings of each kind */
#define IDS_AHEAD    16u /* documents between prefetching a slot of the id table and using it */

/* --- rows and ids, shard by shard --- */

static bm_str id_of(const bm_ingest_batch *batch, const bm_ingest_doc *doc)
{
    return (bm_str){doc->id_len > 0 ? batch->ids.data + doc->id_begin : "", doc->id_len};
}

/* The number of documents to enter into the table: 0 if the batch is nameless. */
static size_t n_rows(const bm_ingest_batch *batch)
{
    return batch->nameless ? 0 : batch->n_docs;
}

static bm_doc_sums sums_of(const bm_ingest_batch *batch)
{
    bm_doc_sums sums = {
        .docs = n_rows(batch), .skipped = batch->n_skipped, .id_bytes = batch->ids.len};
    for (size_t i = 0; i < batch->n_skipped; i++)
        sums.reason_bytes += bm_doc_table_reason_bytes(&batch->skipped[i]);
    return sums;
}

static bm_status grow_lists(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err)
{
    uint32_t **ids = &batch->entry.ids.docs, **contents = &batch->copies.contents.docs;
    BM_TRY(bm_grow_array(ids, &batch->capacity.by_id, n_rows(batch), err));
    return cfg->early.claim == NULL
               ? BM_OK
               : bm_grow_array(contents, &batch->capacity.by_content, batch->n_docs, err);
}

/* Prepare a finished batch for the ring: allocate the lists for sorting its documents by shard, and
 * compute its sums. If there is not enough memory, the batch fails, and its documents are
 * dropped. */
static void prepare(const bm_ingest_cfg *cfg, bm_ingest_batch *batch)
{
    const bm_status status = grow_lists(cfg, batch, &batch->error);
    if (status != BM_OK) {
        batch->status = status;
        batch->n_docs = batch->ids.len = 0;
    }
    batch->turn.sums = sums_of(batch);
    batch->turn.n_shingles =
        batch->nameless && batch->n_docs > 0 ? batch->shingles.offsets[batch->n_docs] : 0;
    batch->turn.longest = 0;
    for (size_t i = 0; i < n_rows(batch); i++) {
        const bm_doc_row *row = &batch->docs[i].row;
        batch->turn.n_shingles += row->n_shingles;
        if (row->text_bytes > batch->turn.longest)
            batch->turn.longest = row->text_bytes;
    }
}

/* Copy the rows and ids of the batch to their reserved places in the table. */
static void fill_rows(const bm_doc_table *docs, const bm_ingest_batch *batch)
{
    const uint64_t text = batch->turn.first_text;
    if (batch->ids.len > 0)
        memcpy(docs->ids.text.data + text, batch->ids.data, batch->ids.len);
    for (size_t i = 0; i < n_rows(batch); i++) {
        const bm_ingest_doc *doc = &batch->docs[i];
        bm_doc_table_fill(docs, batch->turn.first_row + i, &doc->row,
                          text + doc->id_begin + doc->id_len);
    }
}

/* Record that the document repeats the id of an earlier row, unless an earlier document does so. */
static void note_again(bm_ingest_entry_state *entry, uint32_t doc, uint32_t row)
{
    const uint64_t again = bm_pair_key(doc, row);
    uint64_t least = atomic_load(&entry->again);
    while (again < least && !atomic_compare_exchange_weak(&entry->again, &least, again))
        ;
}

/* Enter the ids of one shard. A repeated id is recorded in batch->entry.again. The shard must be
 * marked busy. */
static bm_status enter_ids(bm_doc_table *table, bm_ingest_batch *batch, uint32_t shard,
                           bm_error *err)
{
    bm_ingest_entry_state *entry = &batch->entry;
    const uint32_t *docs = entry->ids.docs, begin = entry->ids.begin[shard],
                   end = entry->ids.begin[shard + 1];
    const uint32_t first_row = (uint32_t)batch->turn.first_row;
    for (uint32_t i = begin, ahead = begin; i < end; i++) {
        for (; ahead < end && ahead < i + IDS_AHEAD; ahead++)
            bm_doc_table_expect(table, batch->docs[docs[ahead]].id_hash);
        const uint32_t doc = docs[i];
        uint32_t first;
        BM_TRY(bm_doc_table_enter(table, first_row + doc, batch->docs[doc].id_hash, &first, err));
        if (first != first_row + doc)
            note_again(entry, doc, first);
    }
    return BM_OK;
}

/* --- delivering one batch --- */

/* Add the documents to the table, if there is one, one by one. Fails if an id is repeated, unless
 * repeated ids are numbered. */
static bm_status add_docs(const bm_ingest_cfg *cfg, const bm_ingest_batch *batch, bm_error *err)
{
    const size_t n = cfg->docs != NULL ? n_rows(batch) : 0;
    for (size_t i = 0; i < n; i++) {
        const bm_ingest_doc *doc = &batch->docs[i];
        if (i + IDS_AHEAD < n)
            bm_doc_table_expect(cfg->docs, batch->docs[i + IDS_AHEAD].id_hash);
        BM_TRY(bm_doc_table_add(cfg->docs, &doc->row, (bm_doc_id){id_of(batch, doc), doc->id_hash},
                                bm_batch_source_file(cfg->source, doc->row.file), err));
    }
    return BM_OK;
}

/* Accept the documents of a batch whose rows are reserved and filled. Fails if an id is
 * repeated. */
static bm_status accept_docs(const bm_ingest_cfg *cfg, const bm_ingest_batch *batch, bm_error *err)
{
    const uint64_t again = atomic_load(&batch->entry.again);
    if (again == UINT64_MAX) {
        bm_doc_table_accept(cfg->docs, &batch->turn.sums);
        return BM_OK;
    }
    const bm_doc_row *row = &batch->docs[again >> 32].row;
    return bm_doc_table_repeated(cfg->docs, row, (uint32_t)again,
                                 bm_batch_source_file(cfg->source, row->file), err);
}

/* Warn of the nth skipped record. */
static void warn_of_skipped(const bm_ingest_cfg *cfg, const bm_skipped *skipped, uint64_t nth)
{
    bm_meter_log(cfg->meter, BM_LOG_WARNING, "%s:%" PRIu64 ": skipped: %s%s",
                 bm_batch_source_file(cfg->source, skipped->file), skipped->line, skipped->reason,
                 nth == WARNINGS_MAX ? "; no more of these are reported" : "");
}

/* If a record was skipped together with lines after it, and it is one of the first such records,
 * warn. If a quote is never closed, such a record may be most of a file. */
static void warn_of_swallowed(const bm_ingest_cfg *cfg, const bm_skipped *skipped)
{
    if (skipped->n_behind > 0 && cfg->docs->n_swallowing <= WARNINGS_MAX)
        warn_of_skipped(cfg, skipped, cfg->docs->n_swallowing);
}

/* Warn of the first unreadable document. No other one is named: if there are many, the inputs have
 * another encoding. */
static void warn_of_unreadable(const bm_ingest_cfg *cfg, const bm_ingest_batch *batch)
{
    const bm_hash128 *content = bm_ingest_content(batch);
    size_t i = 0;
    while (i < batch->n_docs && !bm_content_is_unreadable(content[i]))
        i++;
    if (i < n_rows(batch))
        bm_meter_log(cfg->meter, BM_LOG_WARNING, "%s:%" PRIu64 ": " BM_UNREADABLE_WARNING,
                     bm_batch_source_file(cfg->source, batch->docs[i].row.file),
                     batch->docs[i].row.line);
    else
        bm_meter_log(cfg->meter, BM_LOG_WARNING, "text %" PRIu64 ": " BM_UNREADABLE_WARNING,
                     batch->turn.first_doc + i + 1);
}

static bm_status deliver_skipped(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err)
{
    for (size_t i = 0; i < batch->n_skipped; i++) {
        bm_skipped *skipped = &batch->skipped[i];
        const bm_bad_place bad = {.file = bm_batch_source_file(cfg->source, skipped->file),
                                  .line = skipped->line,
                                  .reason = skipped->reason};
        BM_TRY(bm_skip_allowed(cfg->input, cfg->counts->skipped, &bad, err));
        if (cfg->docs != NULL) {
            BM_TRY(bm_doc_table_skip(cfg->docs, skipped, err));
            warn_of_swallowed(cfg, skipped);
            skipped->reason = NULL;                       /* the table owns the reason now */
        } else if (cfg->counts->skipped < WARNINGS_MAX) { /* without a table, no list is kept */
            warn_of_skipped(cfg, skipped, cfg->counts->skipped + 1);
        }
        cfg->counts->skipped++;
        cfg->counts->records++;
    }
    return BM_OK;
}

/* Deliver a batch: add its documents to the table (or, if their rows are entered, accept them), its
 * bad records to the list of skipped records, and its counts. If the batch itself has failed,
 * returns its failure. */
static bm_status deliver_batch(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err)
{
    const size_t first_row = cfg->docs != NULL ? cfg->docs->n : 0;
    const size_t first_skipped = cfg->docs != NULL ? cfg->docs->n_skipped : 0;
    const bm_counts before = *cfg->counts;
    bm_status status =
        batch->turn.has_rows ? accept_docs(cfg, batch, err) : add_docs(cfg, batch, err);
    if (status == BM_OK)
        status = deliver_skipped(cfg, batch, err);
    if (status == BM_OK && batch->status != BM_OK && cfg->docs == NULL && cfg->sink.place != NULL) {
        batch->turn.all_put = true;
        /* If the sink fails at an earlier record of the batch, that error is the one to report. */
        status = cfg->sink.place(cfg->sink.ctx, batch, first_row, err);
    }
    if (status == BM_OK && batch->status != BM_OK) {
        status = batch->status;
        if (err != NULL)
            *err = batch->error;
    }
    if (status != BM_OK) { /* undo this batch, so that the earlier batches can be saved */
        if (cfg->docs != NULL)
            bm_doc_table_cut(cfg->docs, first_row, first_skipped);
        *cfg->counts = before;
        return status;
    }
    batch->turn.first_row = first_row;
    bm_counts *counts = cfg->counts;
    const uint64_t n_unreadable = batch->shingles.n_unreadable + batch->text.n_unreadable;
    if (n_unreadable > 0 && counts->unreadable == 0)
        warn_of_unreadable(cfg, batch);
    bm_counts_add_docs(counts,
                       &(bm_doc_counts){.n = batch->n_docs,
                                        .n_empty = batch->shingles.n_empty + batch->text.n_empty,
                                        .n_short = batch->shingles.n_short + batch->text.n_short,
                                        .n_unreadable = n_unreadable,
                                        .n_weightless = batch->shingles.n_weightless,
                                        .n_invalid = batch->n_invalid,
                                        .n_shingles = batch->turn.n_shingles});
    return BM_OK;
}

/* Pass the delivered batch to the sink. BM_NOT_FOUND: all earlier batches must be put first. */
static bm_status place_batch(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bool all_put,
                             bm_error *err)
{
    bm_status status = BM_OK;
    batch->turn.all_put = all_put;
    if (cfg->sink.place != NULL)
        status = cfg->sink.place(cfg->sink.ctx, batch, batch->turn.first_row, err);
    if (status == BM_NOT_FOUND)
        return status;
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
    BM_TRY(bm_new_zero(&out->ready, window, err));
    BM_TRY(bm_new_aligned(&out->shards, BM_DOC_SHARDS, err));
    memset(out->shards, 0, BM_DOC_SHARDS * sizeof *out->shards);
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
    bm_free(order->shards);
    bm_free(order->ready);
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

/* Release the share of memory of a batch. The lock is held. */
static void release_share(bm_ingest_order *order, bm_ingest_share *share)
{
    order->shares.taken -= share->cost;
    if (share->alone)
        order->shares.alone = 0;
    *share = (bm_ingest_share){0};
}

/* Take back a batch that has left the ring, for reuse, or free it. The lock is held. */
static void put_back(bm_ingest_order *order, bm_ingest_batch *batch)
{
    const bm_ingest_share *share = &batch->turn.share;
    const bool stays = !share->alone && share->cost <= order->shares.batch;
    release_share(order, &batch->turn.share);
    ingest_batch_clear(batch);
    if (order->n_free < order->window && stays)
        order->free[order->n_free++] = batch;
    else
        bm_ingest_batch_free(batch);
    order->done++;
    pthread_cond_broadcast(&order->moved);
}

/* Do `bytes` more fit into the memory for batches, besides the batches in flight before number n?
 * True if no batch is in flight before number n. The lock is held. */
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

/* Pass the first delivered batch that is not put yet to the sink's `put`, and take the batch back.
 * The lock is held, but released during this call. */
static void put_one(bm_ingest_order *order)
{
    const bm_ingest_sink *sink = &order->cfg->sink;
    bm_ingest_batch **place = place_of(order, order->put++), *batch = *place;
    *place = NULL;
    if (sink->put != NULL && batch->n_docs > 0) {
        pthread_mutex_unlock(&order->lock);
        bm_error error = {0};
        double mark = bm_clock_seconds(), spent = 0;
        const bm_status status = sink->put(sink->ctx, batch, batch->turn.first_row, &error);
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

/* Put all delivered batches, and wait until other threads have put theirs. The lock is held, but
 * released while batches are put. */
static void put_all(bm_ingest_order *order)
{
    while (order->done < order->next) {
        if (may_put(order))
            put_one(order);
        else
            pthread_cond_wait(&order->moved, &order->lock);
    }
}

/* Batch n, if it is in the ring and settled; else NULL. Its place may still contain an earlier
 * batch, which is delivered but not put. The lock is held. */
static bm_ingest_batch *batch_at(bm_ingest_order *order, uint64_t n)
{
    bm_ingest_batch *batch = *place_of(order, n);
    return batch != NULL && batch->turn.sequence == n && batch->turn.device == NULL ? batch : NULL;
}

/* Find the first unsettled batch whose device is not locked, lock the device, and remove the batch
 * from the ring. NULL: there is no such batch. The lock is held. */
static bm_ingest_batch *take_unsettled(bm_ingest_order *order)
{
    const uint64_t end = order->reserve + order->window;
    for (uint64_t n = order->reserve; order->unsettled > 0 && !order->stop && n < end; n++) {
        bm_ingest_batch **place = place_of(order, n), *batch = *place;
        if (batch == NULL || batch->turn.device == NULL ||
            pthread_mutex_trylock(&batch->turn.device->lock) != 0)
            continue;
        *place = NULL;
        order->unsettled--;
        return batch;
    }
    return NULL;
}

/* Settle one batch. False: no batch can be settled now. The lock is held, but released while the
 * batch is settled. */
static bool settle(bm_ingest_order *order)
{
    bm_ingest_batch *batch = take_unsettled(order);
    if (batch == NULL)
        return false;
    pthread_mutex_unlock(&order->lock);
    double mark = bm_clock_seconds(), spent = 0;
    order->settle(order->cfg, batch);
    prepare(order->cfg, batch);
    bm_ingest_lap(&spent, &mark);
    pthread_mutex_lock(&order->lock);
    order->times.sign += spent;
    batch->turn.device = NULL;
    *place_of(order, batch->turn.sequence) = batch;
    pthread_cond_broadcast(&order->moved);
    return true;
}

/* Just before the rows of the batch are reserved: does the sink claim the batch? Also true if the
 * sink has no `claim` function. */
static bool claim(const bm_ingest_order *order, const bm_ingest_batch *batch, bool first)
{
    const bm_ingest_early *early = &order->cfg->early;
    return early->claim == NULL ||
           early->claim(early->ctx, batch, order->cfg->docs->reserved.docs, first);
}

/* If the next batch is in the ring, reserve its rows. If the rows cannot be reserved, or the sink
 * does not claim the batch, the batch waits until all earlier batches are delivered; then it
 * continues without rows, or unclaimed. Returns false if nothing was done. The lock is held. */
static bool reserve(bm_ingest_order *order)
{
    bm_doc_table *docs = order->cfg->docs;
    bm_ingest_batch *batch = batch_at(order, order->reserve);
    const bool alone = order->next == order->reserve && !order->delivering;
    if (batch == NULL || order->stop || order->in_turn)
        return false;
    if (docs != NULL && alone)
        bm_doc_table_begin(docs);
    const bm_doc_sums *sums = &batch->turn.sums;
    const bool may = docs != NULL && bm_doc_table_may_reserve(docs, sums) &&
                     bm_doc_table_make_room(docs, sums, NULL) == BM_OK;
    const bool claimed = may && claim(order, batch, alone);
    if (!claimed && !alone)
        return false;
    order->reserve++;
    order->in_turn = !claimed;
    batch->turn.has_rows = may;
    batch->turn.claimed = claimed && order->cfg->early.claim != NULL;
    if (may) {
        batch->turn.first_row = bm_doc_table_reserve(docs, sums, &batch->turn.first_text);
        atomic_store(&batch->entry.left, BM_DOC_SHARDS);
        atomic_store(&batch->entry.again, UINT64_MAX);
        return true;
    }
    order->enter++;
    atomic_store(&batch->entry.left, 0);
    for (uint32_t s = 0; s < BM_DOC_SHARDS; s++)
        atomic_store(&order->shards[s].next, order->reserve);
    return true;
}

/* Is the next batch of the shard ready? */
static bool has_next(const bm_ingest_order *order, const bm_ingest_shard *shard)
{
    const uint64_t n = atomic_load(&shard->next);
    return atomic_load(&order->ready[n % order->window]) == n + 1;
}

/* Enter the ids of one shard, and, if the batch is claimed, its content hashes. The shard must be
 * marked busy. */
static bm_status enter(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, uint32_t s, bm_error *err)
{
    BM_TRY(enter_ids(cfg->docs, batch, s, err));
    return batch->turn.claimed ? bm_doc_copies_enter(cfg->early.copies, batch, s, err) : BM_OK;
}

/* Enter the next batch into the shard. The batch must be ready, and the shard marked busy. A
 * failure is stored in the batch. */
static void enter_shard(bm_ingest_order *order, uint32_t s)
{
    bm_ingest_batch *batch = *place_of(order, atomic_load(&order->shards[s].next));
    bm_error error = {0};
    const bm_status status = enter(order->cfg, batch, s, &error);
    if (status != BM_OK) {
        pthread_mutex_lock(&order->lock);
        batch->status = status;
        batch->error = error;
        pthread_mutex_unlock(&order->lock);
    }
    atomic_fetch_add(&order->shards[s].next, 1);
    atomic_fetch_sub(&batch->entry.left, 1);
}

/* Enter the ready batches into all free shards. `from`: number of a batch; it decides with which
 * shard to begin, so that threads begin with different shards. */
static void enter_shards(bm_ingest_order *order, uint64_t from)
{
    for (uint32_t i = 0; i < BM_DOC_SHARDS; i++) {
        const uint32_t s = (uint32_t)((from * 7 + i) % BM_DOC_SHARDS);
        bm_ingest_shard *shard = &order->shards[s];
        while (has_next(order, shard) && !atomic_exchange(&shard->busy, true)) {
            while (has_next(order, shard))
                enter_shard(order, s);
            atomic_store(&shard->busy, false);
        }
    }
}

/* May the next batch be delivered? It must be entered into the table, no other thread may be
 * delivering, and the ingest must not stop. */
static bool may_deliver(bm_ingest_order *order)
{
    return !order->delivering && !order->stop && order->next < order->enter &&
           atomic_load(&batch_at(order, order->next)->entry.left) == 0;
}

/* Enter the next batch (order->enter). The lock is held, but released while the batch is
 * entered. */
static void enter_one(bm_ingest_order *order)
{
    const uint64_t n = order->enter++;
    bm_ingest_batch *batch = *place_of(order, n);
    pthread_mutex_unlock(&order->lock);
    double mark = bm_clock_seconds(), spent = 0;
    bm_doc_shard_list_fill(n_rows(batch) > 0 ? &batch->docs->id_hash : NULL, sizeof *batch->docs,
                           n_rows(batch), &batch->entry.ids);
    fill_rows(order->cfg->docs, batch);
    if (batch->turn.claimed)
        bm_doc_copies_fill(order->cfg->early.copies, batch);
    atomic_store(&order->ready[n % order->window], n + 1);
    enter_shards(order, n);
    bm_ingest_lap(&spent, &mark);
    pthread_mutex_lock(&order->lock);
    order->times.enter += spent;
    if (may_deliver(order)) /* wake the others, since another thread may have to deliver it */
        pthread_cond_broadcast(&order->moved);
}

static bool may_enter(const bm_ingest_order *order)
{
    return !order->stop && order->enter < order->reserve;
}

/* Call cfg.pause, and pause if it returns true. No other thread delivers. The lock is held, but
 * released during the pause. */
static void pause_if_due(bm_ingest_order *order)
{
    const bm_ingest_pause *pause = &order->cfg->pause;
    if (pause->fn == NULL || !pause->fn(pause->ctx, false))
        return;
    put_all(order);
    if (order->stop)
        return;
    order->in_turn = true;
    pthread_mutex_unlock(&order->lock);
    (void)pause->fn(pause->ctx, true);
    pthread_mutex_lock(&order->lock);
    order->in_turn = false;
}

/* Put all delivered batches. No other thread delivers. False: putting failed, and the failure is
 * recorded. */
static bool put_before(bm_ingest_order *order)
{
    pthread_mutex_lock(&order->lock);
    put_all(order);
    const bool go = !order->put_failed;
    pthread_mutex_unlock(&order->lock);
    return go;
}

/* Deliver and place a batch. No other thread delivers. BM_ERR_CANCELLED: an earlier batch could not
 * be put, and that failure is recorded. */
static bm_status deliver(bm_ingest_order *order, bm_ingest_batch *batch, bm_error *err)
{
    if (batch->status != BM_OK && !put_before(order))
        return BM_ERR_CANCELLED;
    BM_TRY(deliver_batch(order->cfg, batch, err));
    const bm_status status = place_batch(order->cfg, batch, false, err);
    if (status != BM_NOT_FOUND)
        return status;
    return put_before(order) ? place_batch(order->cfg, batch, true, err) : BM_ERR_CANCELLED;
}

/* Deliver the next batch. The lock is held, but released while it is delivered. */
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
    order->in_turn = false;
    if (status == BM_OK) {
        pause_if_due(order);
    } else { /* a failed batch is not put, and later batches are not delivered */
        *place = NULL;
        put_back(order, batch);
    }
    order->delivering = false;
    pthread_cond_broadcast(
        &order->moved); /* the next batch may have to be delivered by another thread */
}

/* If some batch has a step that can be done now, do it, and return true. The lock is held, but may
 * be released meanwhile. */
static bool help(bm_ingest_order *order)
{
    if (may_deliver(order))
        deliver_one(order);
    else if (settle(order) || reserve(order))
        return true;
    else if (may_enter(order))
        enter_one(order);
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
    if (batch->turn.device == NULL)
        prepare(order->cfg, batch);
    pthread_mutex_lock(&order->lock);
    order->unsettled += batch->turn.device != NULL;
    *place_of(order, batch->turn.sequence) = batch;
    pthread_cond_broadcast(&order->moved);
    pthread_mutex_unlock(&order->lock);
}

void bm_ingest_order_deliver(bm_ingest_order *order, bm_ingest_batch *batch)
{
    double mark = bm_clock_seconds(), spent = 0;
    if (batch != NULL)
        prepare(order->cfg, batch);
    bm_ingest_lap(&spent, &mark);
    pthread_mutex_lock(&order->lock);
    order->times.enter += spent;
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
    ingest_times_add(&order->times, times);
    pthread_mutex_unlock(&order->lock);
}
