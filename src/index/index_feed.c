/* SPDX-License-Identifier: Apache-2.0 */
/* index_feed.c -- the exchange of two batches between the reading and the adding thread.
 *
 * LMDB requires that one thread makes all calls of a write transaction. So the caller's thread
 * adds, and another thread is started to read.
 *
 * Tests: tests/cli/cases/index_add.sh, tests/cli/cases/index_unique.sh,
 *        tests/unit/index/test_index_feed.c, tests/unit/index/test_index_gather.c */
#include "index/index_feed.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "lsh/verify.h"

/* === index gather ===
 *
 * Parallel arrays that grow together. */

#define SORT_GRAIN 64u /* sets that a thread sorts at a time */

bm_status bm_gathered_reserve(bm_gathered *g, const bm_gather_shape *shape, size_t n, bm_error *err)
{
    BM_TRY(bm_grow_array(&g->docs, &g->caps.docs, n, err));
    if (shape->sets)
        BM_TRY(bm_grow_array(&g->sets, &g->caps.sets, n, err));
    if (!shape->sets)
        BM_TRY(bm_grow_array(&g->words, &g->caps.words, n * shape->words, err));
    return bm_grow_array(&g->keys, &g->caps.keys, n * shape->bands, err);
}

static bm_status reserve_for(bm_gathered *to, const bm_gather_shape *shape,
                             const bm_ingest_batch *batch, bm_error *err)
{
    BM_TRY(bm_gathered_reserve(to, shape, to->n + batch->n_docs, err));
    if (shape->sets)
        BM_TRY(bm_grow_array(&to->hashes, &to->caps.hashes,
                             to->n_hashes + bm_shingle_batch_hashes(&batch->shingles), err));
    return BM_OK;
}

static void add_doc(bm_gathered *to, const bm_gather_shape *shape, const bm_ingest_batch *batch,
                    size_t i)
{
    const bm_ingest_doc *doc = &batch->docs[i];
    const bool is_signed = batch->status == BM_OK;
    const uint32_t first = shape->first_input;
    bm_store_doc *out = &to->docs[to->n + i];
    *out = (bm_store_doc){.id = {NULL, doc->id_len},
                          .content = is_signed ? bm_ingest_content(batch)[i] : (bm_hash128){0},
                          .text_bytes = doc->row.text_bytes,
                          .line = doc->row.line,
                          .input = first == UINT32_MAX ? first : first + doc->row.file,
                          .n_shingles = is_signed ? doc->row.n_shingles : 0};
    to->input_bytes += doc->row.text_bytes;
    if (!shape->sets || !is_signed)
        return;
    const uint64_t begin = batch->shingles.offsets[i];
    const size_t n = (size_t)(batch->shingles.offsets[i + 1] - begin);
    if (n > 0)
        memcpy(to->hashes + to->n_hashes, batch->shingles.hashes + begin, n * sizeof *to->hashes);
    to->n_hashes += n;
}

/* Append the documents of an ingest batch to `to`. If the ingest batch has failed, its documents
 * have no words and keys, and `to` becomes broken. BM_ERR_NOMEM. */
static bm_status gathered_add(bm_gathered *to, const bm_gather_shape *shape,
                              const bm_ingest_batch *batch, bm_error *err)
{
    const size_t n = batch->n_docs;
    BM_TRY(n == 0 ? BM_OK : reserve_for(to, shape, batch, err));
    BM_TRY(bm_buf_add(&to->ids, batch->ids.data, batch->ids.len, err));
    for (size_t i = 0; i < n; i++)
        add_doc(to, shape, batch, i);
    const bool is_signed = batch->status == BM_OK;
    to->broken = to->broken || !is_signed;
    if (n > 0 && is_signed)
        memcpy(to->keys + to->n * shape->bands, batch->keys, n * shape->bands * sizeof *to->keys);
    if (n > 0 && is_signed && !shape->sets)
        memcpy(to->words + to->n * shape->words, batch->words,
               n * shape->words * sizeof *to->words);
    to->n += n;
    to->place = batch->turn.place;
    return BM_OK;
}

static bm_status sort_sets(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const bm_gathered *g = ctx;
    bm_sorter sorter = {0};
    bm_status status = BM_OK;
    for (size_t i = begin; status == BM_OK && i < end; i++)
        if (g->docs[i].n_shingles > 0)
            status = bm_sorter_sort(&sorter, g->hashes + (g->sets[i] - g->hashes),
                                    g->docs[i].n_shingles, err);
    bm_sorter_reset(&sorter);
    return status;
}

bm_status bm_gathered_finish(bm_gathered *g, const bm_gather_shape *shape, bm_pool *pool,
                             bm_error *err)
{
    size_t id = 0, hash = 0;
    for (size_t i = 0; i < g->n; i++) {
        g->docs[i].id.data = g->ids.data != NULL ? g->ids.data + id : NULL;
        id += g->docs[i].id.len;
        if (!shape->sets)
            continue;
        g->sets[i] = g->hashes != NULL ? g->hashes + hash : NULL;
        hash += g->docs[i].n_shingles;
    }
    return shape->sets && !shape->unsorted
               ? bm_pool_for(pool, (bm_pool_split){g->n, SORT_GRAIN}, sort_sets, g, err)
               : BM_OK;
}

void bm_gathered_drop(bm_gathered *g, const bm_gather_shape *shape, const bool *stays)
{
    size_t to = 0;
    for (size_t i = 0; i < g->n; i++) {
        if (!stays[i])
            continue;
        if (to != i) {
            g->docs[to] = g->docs[i];
            if (shape->sets)
                g->sets[to] = g->sets[i];
            else
                memcpy(g->words + to * shape->words, g->words + i * shape->words,
                       shape->words * sizeof *g->words);
            memcpy(g->keys + to * shape->bands, g->keys + i * shape->bands,
                   shape->bands * sizeof *g->keys);
        }
        to++;
    }
    g->n = to;
}

/* The bytes that the batch has allocated. */
static uint64_t gathered_bytes(const bm_gathered *g)
{
    const bm_gather_caps *caps = &g->caps;
    return g->ids.cap + caps->docs * sizeof *g->docs + caps->sets * sizeof *g->sets +
           caps->hashes * sizeof *g->hashes + caps->words * sizeof *g->words +
           caps->keys * sizeof *g->keys;
}

/* Is the batch full? It is if it has allocated at least `most` bytes and uses at least half of
 * them. (An earlier, larger batch may have left much unused memory.) */
static bool gathered_is_full(const bm_gathered *g, const bm_gather_shape *shape, uint64_t most)
{
    const uint64_t held = gathered_bytes(g);
    const size_t each = sizeof *g->docs + (shape->sets ? sizeof *g->sets : 0) +
                        shape->bands * sizeof *g->keys + shape->words * sizeof *g->words;
    return held >= most && 2 * (g->ids.len + g->n * each + g->n_hashes * sizeof *g->hashes) >= held;
}

void bm_gathered_clear(bm_gathered *g)
{
    g->n = g->n_hashes = g->ids.len = 0;
    g->input_bytes = g->records = 0;
    g->broken = false;
    g->place = (bm_content_place){0};
}

void bm_gathered_reset(bm_gathered *g)
{
    bm_free_all(g->docs, g->hashes, g->sets, g->words, g->keys);
    bm_buf_reset(&g->ids);
    *g = (bm_gathered){0};
}

typedef struct exchange {
    bm_index_feed *feed;
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t moved;
    /* The two batches, unless the adding thread has one of them. NULL: no batch. */
    bm_gathered *filling, *ready, *spare;
    bool taking; /* the adding thread has a batch */
    bool ended, stopped;
    bm_status status; /* status of the ingest, once it has ended */
    bm_error error;
} exchange;

static bm_gathered *detach_filling(exchange *x)
{
    bm_gathered *g = x->filling;
    x->filling = x->spare;
    x->spare = NULL;
    return g;
}

/* --- the reading thread --- */

static void wait_for_batch(exchange *x)
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
    x->ready = detach_filling(x);
    pthread_cond_broadcast(&x->moved);
}

/* Wait until there is a batch to fill, and append the ingest batch to it. If the ingest batch
 * failed, earlier documents are handed over first, as a batch of their own. */
static bm_status on_batch(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    (void)first_row;
    exchange *x = ctx;
    bm_status status = BM_OK;
    pthread_mutex_lock(&x->lock);
    wait_for_batch(x);
    if (!x->stopped && batch->status != BM_OK && x->filling->n > 0) {
        hand_over(x);
        wait_for_batch(x);
    }
    if (x->stopped)
        BM_TRY_OUT(bm_fail(err, BM_ERR_CANCELLED, "stopped"));
    else
        BM_TRY_OUT(gathered_add(x->filling, &x->feed->shape, batch, err));
    x->filling->records = x->feed->job->counts.records;
    pthread_cond_broadcast(&x->moved); /* wakes the adding thread, which takes the batch if it is
                                          due */
    const bm_index_feed *feed = x->feed;
    const bm_gathered *g = x->filling;
    if (g->n > 0 && (gathered_is_full(g, &feed->shape, feed->full_bytes) ||
                     g->input_bytes >= feed->full_input || g->n >= BM_DOCS_MAX / 2))
        hand_over(x);
out:
    pthread_mutex_unlock(&x->lock);
    return status;
}

/* Called before a long document is read. The document will be in memory twice, so wait until the
 * batches that were handed over are added, or until adding fails. *free becomes the number of bytes
 * that the document may take. */
static bm_status wait_for_memory(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err)
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
    const bm_ingest_request request = {.words = !x->feed->shape.sets,
                                       .keys = true,
                                       .no_table = true,
                                       .sink = {.place = on_batch, .ctx = x},
                                       .reclaim = wait_for_memory,
                                       .reclaim_ctx = x};
    const bm_status status = bm_job_context_ingest(x->feed->job, &request, &error);
    pthread_mutex_lock(&x->lock);
    x->ended = true;
    x->status = status;
    x->error = error;
    pthread_cond_broadcast(&x->moved);
    pthread_mutex_unlock(&x->lock);
    return NULL;
}

/* --- the adding thread --- */

/* Wait until something changes, or until `deadline`. Returns false at once if the deadline has
 * passed already. */
static bool wait_until(exchange *x, double deadline)
{
    const double left = deadline - bm_clock_seconds();
    if (left <= 0)
        return false;
    const struct timespec at = bm_clock_in(CLOCK_REALTIME, left);
    pthread_cond_timedwait(&x->moved, &x->lock, &at);
    return true;
}

/* Wait for the next batch to add. NULL: reading has ended, and all batches were returned. */
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
        g = detach_filling(x);
    }
    x->taking = g != NULL;
    pthread_cond_broadcast(&x->moved);
    pthread_mutex_unlock(&x->lock);
    return g;
}

/* Called after a batch was added, or after adding failed with `status`: make the batch available
 * for filling. After a failure, stop the reading thread. */
static void recycle(exchange *x, bm_gathered *g, bm_status status)
{
    bm_gathered_clear(g);
    if (gathered_bytes(g) > 2 * x->feed->full_bytes) /* a long document enlarged the batch */
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

static bm_status drain(exchange *x, bm_error *err)
{
    const bm_index_feed *feed = x->feed;
    bm_status status = BM_OK;
    bm_gathered *g;
    while (status == BM_OK && (g = next(x)) != NULL) {
        status = bm_meter_check(&feed->job->meter, err);
        if (status == BM_OK)
            status = bm_gathered_finish(g, &feed->shape, feed->job->pool, err);
        if (status == BM_OK)
            status = feed->sink(feed->sink_ctx, g, err);
        recycle(x, g, status);
    }
    if (status != BM_OK)
        bm_meter_stop(&feed->job->meter); /* wakes threads that wait for input */
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
    bm_status status = code == 0 ? drain(&x, err) : bm_fail_thread(code, err);
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
