/* SPDX-License-Identifier: Apache-2.0 */
/* signer.c -- bm_signer: signatures and band keys of documents in memory, on all cores and at most
 * one device.
 *
 * Memory lives as long as the signer and grows to the largest call: a call of documents
 * like those before it allocates nothing. After an error from a device only close is left.
 *
 * Tests: tests/race/race_inmem.c, tests/unit/inmem/test_signer.c,
 *        tests/unit/inmem/test_signer_device.c, tests/unit/inmem/test_signer_memory.c,
 *        tests/unit/inmem/test_signer_tasks.c, tests/unit/inmem/test_signer_threads.c,
 *        tests/unit/inmem/test_sketch_usage.c */
#include <bandmill/sketch.h>

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/meter.h"
#include "base/sized_struct.h"
#include "base/system.h"
#include "base/threads.h"
#include "devices/device_set.h"
#include "inmem/documents.h"
#include "lsh/verify.h"
#include "model/low_halves.h"
#include "model/option_check.h"
#include "model/option_words.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"
#include "text/stop_words.h"

/* On cache lines of its own: it is written for every document. */
typedef struct bm_signer_slot {
    alignas(BM_ALIGNMENT) bm_shingle_batch batch;
    bm_sign_task task;
} bm_signer_slot;

/* The state of one thread, on cache lines of its own. */
typedef struct bm_signer_thread {
    alignas(BM_ALIGNMENT) bm_doc_hasher hasher;
    bm_signer_slot *slot; /* being filled */
    uint64_t *scratch;    /* for counting distinct hashes */
    size_t cap_scratch;
} bm_signer_thread;

/* Slots of a backend that is not `parallel`. A thread that has filled its slot takes the lock,
 * hands it over and goes on with a free one; where as many are in flight as the backend likes, it
 * waits for the oldest first, and the other threads fill theirs meanwhile. */
typedef struct bm_signer_ring {
    pthread_mutex_t lock;
    bm_signer_slot **in_flight, **spare; /* room for all slots each */
    size_t depth, oldest, n_in_flight, n_spare;
} bm_signer_ring;

/* A call on its way. */
typedef struct bm_signer_call {
    bm_documents docs;
    bm_signer_out out;
    uint64_t work; /* of all documents */
} bm_signer_call;

typedef enum bm_task_state { BM_TASK_FREE, BM_TASK_WAITING, BM_TASK_DONE } bm_task_state;

typedef struct bm_signer_task {
    bm_task_state state;
    uint64_t turn;
    bm_signer_call call;
    bm_status status;
    bm_error error;
} bm_signer_task;

/* Calls take a number and wait for their turn. */
typedef struct bm_signer_tasks {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    uint64_t next_turn, turn; /* given out next; under way, or the next to be */
    bool closing, started;    /* `thread` was */
    pthread_t thread;         /* does what was submitted */
    bm_signer_task tasks[BM_SIGNER_TASKS_MAX];
} bm_signer_tasks;

struct bm_signer {
    bm_signer_info info;
    bm_sketch_options sketch;
    bm_meter meter;
    bm_pool *pool;
    bm_device_set devices;
    bm_backend *backend; /* of the one that signs */
    bm_signer_thread *threads;
    bm_signer_slot *slots; /* one a thread, and those in flight */
    size_t n_slots, batch_hashes, batch_docs;
    size_t keep_hashes; /* a slot that grew beyond is given back */
    bm_range_size text_range, hash_range;
    bm_signer_ring ring;
    bm_signer_tasks tasks;
    atomic_bool closing;
    bool failed;       /* the device did */
    bool bag;          /* documents are bags, also those given by hashes */
    bm_low_halves low; /* of the 64-bit hashes of all calls since one was refused */
};

/* signer_device -- the one device of a signer.
 *
 * `auto` takes the first GPU and falls back to the CPU when that cannot be opened; any other word
 * must name exactly one device. A device that fails later is an error: there is no one here to
 * sign its batches again. */

/* `device` is one of them, NULL: "cpu". */
static bm_status open_device(const bm_signer_options *options, bm_signer *signer, bm_error *err)
{
    bm_device_options device = options->device;
    if (device.device == NULL)
        device.device = "cpu";
    const char *words = device.device;
    const bool automatic = words[0] == '\0' || strcasecmp(words, "auto") == 0;
    const bm_callbacks callbacks = bm_meter_callbacks(&signer->meter);
    bm_device_pick pick;
    BM_TRY(bm_device_pick_open(&device, &callbacks, &pick, err));
    if (pick.broken)
        bm_meter_log(&signer->meter, BM_LOG_WARNING, "%s", pick.why);
    bm_status status = BM_OK;
    if (pick.n != 1 && !automatic)
        status = bm_fail_field(err, "device", "'%s' names %zu devices (a signer takes one)", words,
                               pick.n);
    pick.n = 1;
    const bm_device_settings settings = bm_device_settings_of(&options->device);
    bm_device_set_cfg cfg = {.pick = &pick,
                             .sketch = options->sketch,
                             .bands = options->bands,
                             .rows = options->rows,
                             .threads = signer->info.threads,
                             .cpu = options->device.cpu,
                             .cache_dir = options->device.cache_dir,
                             .settings = &settings,
                             .meter = &signer->meter};
    if (status == BM_OK)
        status = bm_device_set_open(&cfg, &signer->devices, err);
    bm_device_pick_reset(&pick);
    if (status != BM_OK)
        return status;
    const bm_device_set *devices = &signer->devices;
    signer->backend =
        devices->n_device_workers > 0 ? devices->device_workers[0].backend : devices->cpu;
    const bm_device_info *info = &signer->backend->info;
    snprintf(signer->info.device, sizeof signer->info.device, "%s", info->spec);
    snprintf(signer->info.device_name, sizeof signer->info.device_name, "%s", info->name);
    return BM_OK;
}

static bm_status ring_init(bm_signer *signer, bm_error *err)
{
    bm_signer_ring *ring = &signer->ring;
    ring->in_flight = bm_alloc(signer->n_slots, sizeof(bm_signer_slot *));
    ring->spare = bm_alloc(signer->n_slots, sizeof(bm_signer_slot *));
    if (ring->in_flight == NULL || ring->spare == NULL)
        return bm_fail_nomem(err, signer->n_slots * sizeof(bm_signer_slot *));
    ring->depth = signer->n_slots - signer->info.threads;
    for (size_t i = signer->info.threads; i < signer->n_slots; i++)
        ring->spare[ring->n_spare++] = &signer->slots[i];
    return BM_OK;
}

static void ring_reset(bm_signer_ring *ring)
{
    bm_free_all(ring->in_flight, ring->spare);
}

/* Under the lock, or alone. A sample of what came back is signed again here (device_set.h). */
static bm_status wait_for_oldest(bm_signer *signer, bm_error *err)
{
    bm_signer_ring *ring = &signer->ring;
    bm_signer_slot *slot = ring->in_flight[ring->oldest];
    ring->oldest = (ring->oldest + 1) % signer->n_slots;
    ring->n_in_flight--;
    ring->spare[ring->n_spare++] = slot;
    BM_TRY(signer->backend->ops->wait(signer->backend, &slot->task, err));
    return bm_device_set_check(&signer->devices, &signer->devices.device_workers[0], &slot->task,
                               err);
}

static bm_status submit(bm_signer *signer, bm_signer_thread *thread, bm_error *err)
{
    bm_signer_ring *ring = &signer->ring;
    if (ring->n_in_flight == ring->depth)
        BM_TRY(wait_for_oldest(signer, err));
    BM_TRY(signer->backend->ops->submit(signer->backend, &thread->slot->task, err));
    ring->in_flight[(ring->oldest + ring->n_in_flight++) % signer->n_slots] = thread->slot;
    thread->slot = ring->spare[--ring->n_spare];
    return BM_OK;
}

/* Sign what is in the thread's slot; afterwards it has one that may be filled. */
static bm_status hand_over(bm_signer *signer, bm_signer_thread *thread, bm_error *err)
{
    bm_backend *backend = signer->backend;
    bm_status status;
    if (bm_device_set_is_for_cpu(&signer->devices, &thread->slot->task))
        return bm_device_set_sign_cpu(&signer->devices, &thread->slot->task, err);
    if (backend->parallel) {
        status = backend->ops->submit(backend, &thread->slot->task, err);
        return status == BM_OK ? backend->ops->wait(backend, &thread->slot->task, err) : status;
    }
    pthread_mutex_lock(&signer->ring.lock);
    if (signer->failed) /* the thread that saw it has the error */
        status = bm_fail(err, BM_ERR_DEVICE, "the signer's device failed");
    else
        status = submit(signer, thread, err);
    signer->failed = signer->failed || (status != BM_OK && status != BM_ERR_NOMEM);
    pthread_mutex_unlock(&signer->ring.lock);
    return status;
}

/* Wait for all that is in flight, after an error (`failed`) by draining the device: then the
 * caller's arrays are nobody else's, or the signer has failed. */
static bm_status wait_for_all(bm_signer *signer, bool failed, bm_error *err)
{
    bm_signer_ring *ring = &signer->ring;
    bm_status status = BM_OK;
    if (signer->backend->parallel)
        return BM_OK;
    while (!failed && ring->n_in_flight > 0)
        BM_TRY_OUT(wait_for_oldest(signer, err));
    if (!failed)
        return BM_OK;
out:;
    bm_status drained = signer->backend->ops->drain(signer->backend, NULL);
    signer->failed = signer->failed || drained != BM_OK || status != BM_OK;
    while (ring->n_in_flight > 0) {
        ring->n_in_flight--;
        ring->spare[ring->n_spare++] = ring->in_flight[ring->oldest];
        ring->oldest = (ring->oldest + 1) % signer->n_slots;
    }
    return status;
}

/* signer_work -- the documents of one call, on all threads.
 *
 *     range of documents -> the thread's slot: shingle hashes -> backend -> words and keys,
 * straight into the caller's arrays
 *
 * A thread takes a range (documents.h) and signs it a slot at a time: whole documents up to the
 * number of hashes that the backend asks for. 64-bit hashes made elsewhere are signed where they
 * lie; 32-bit ones are widened into the slot. Each document's rows are written by whoever took it,
 * so nothing has to be put in order. What is less than SMALL is signed by the caller alone: to
 * wake a thread costs as much. */

#define SMALL (UINT64_C(96) << 10) /* work, as bm_document_work counts it */

typedef struct progress {
    bm_signer *signer;
    const bm_signer_call *call;
    bm_doc_ranges ranges;
} progress;

/* Hashes of 32 bits as a document of the batch, repeats and all. */
static bm_status widen(const bm_documents *docs, size_t doc, bm_shingle_batch *batch, bm_error *err)
{
    size_t begin = (size_t)docs->offsets[doc], n = (size_t)docs->offsets[doc + 1] - begin;
    BM_TRY(bm_shingle_batch_reserve(batch, 1, n, err));
    size_t at = bm_shingle_batch_hashes(batch);
    for (size_t i = 0; i < n; i++)
        batch->hashes[at + i] = docs->hashes32[begin + i];
    batch->offsets[++batch->n_docs] = at + n;
    return BM_OK;
}

/* How many distinct hashes a document has; its own order stays. */
static bm_status count_distinct(bm_signer_thread *thread, const uint64_t *hashes, size_t n,
                                uint32_t *out, bm_error *err)
{
    *out = 0;
    if (n == 0)
        return BM_OK;
    BM_TRY(bm_grow_array(&thread->scratch, &thread->cap_scratch, 2 * n, err));
    memcpy(thread->scratch, hashes, n * sizeof *hashes);
    bm_hashes_sort(thread->scratch, n, thread->scratch + n);
    *out = (uint32_t)bm_hashes_distinct(thread->scratch, n);
    return BM_OK;
}

static bm_status count_shingles(bm_signer_thread *thread, bool distinct, uint32_t *n_shingles,
                                bm_error *err)
{
    const bm_sign_task *task = &thread->slot->task;
    for (size_t i = 0; i < task->n_docs; i++) {
        const size_t n = (size_t)(task->offsets[i + 1] - task->offsets[i]);
        n_shingles[i] = (uint32_t)n;
        if (!distinct)
            BM_TRY(count_distinct(thread, task->hashes + task->offsets[i], n, &n_shingles[i], err));
    }
    return BM_OK;
}

/* Fill the slot with documents from `first` on, as many as make a batch. */
static bm_status fill(const bm_signer *signer, bm_signer_thread *thread, const bm_documents *docs,
                      size_t range[2], bm_error *err)
{
    bm_signer_slot *slot = thread->slot;
    const size_t first = range[0];
    const bool direct = docs->hashes != NULL && !signer->bag;
    size_t doc = first, n_hashes = 0;
    if (slot->batch.cap_hashes > signer->keep_hashes)
        bm_shingle_batch_reset(&slot->batch);
    bm_shingle_batch_clear(&slot->batch);
    for (; doc < range[1] && doc - first < signer->batch_docs && n_hashes < signer->batch_hashes;
         doc++) {
        if (docs->hashes32 != NULL && !signer->bag)
            BM_TRY(widen(docs, doc, &slot->batch, err));
        else if (!direct)
            BM_TRY(bm_doc_hasher_add(&thread->hasher, docs, doc, &slot->batch, err));
        n_hashes = direct ? (size_t)(docs->offsets[doc + 1] - docs->offsets[first])
                          : bm_shingle_batch_hashes(&slot->batch);
    }
    static const uint64_t none; /* where no document of the slot has a hash */
    const uint64_t *own = slot->batch.hashes != NULL ? slot->batch.hashes : &none;
    slot->task = (bm_sign_task){.offsets = direct ? docs->offsets + first : slot->batch.offsets,
                                .hashes = direct ? docs->hashes : own,
                                .weights = docs->weights,
                                .n_docs = doc - first};
    range[0] = doc;
    return BM_OK;
}

static bm_status sign_range(progress *p, bm_signer_thread *thread, const size_t range[2],
                            bm_error *err)
{
    bm_signer *signer = p->signer;
    const bm_signer_out *out = &p->call->out;
    size_t left[] = {range[0], range[1]};
    if (atomic_load(&signer->closing))
        return bm_fail(err, BM_ERR_CANCELLED, "the signer is being closed");
    while (left[0] < left[1]) {
        const size_t first = left[0];
        BM_TRY(fill(signer, thread, &p->call->docs, left, err));
        if (out->n_shingles != NULL)
            BM_TRY(count_shingles(thread, p->call->docs.texts != NULL || signer->bag,
                                  out->n_shingles + first, err));
        if (out->words == NULL && out->keys == NULL)
            continue;
        bm_sign_task *task = &thread->slot->task;
        task->words = out->words == NULL
                          ? NULL
                          : out->words + first * bm_scheme_row_uints(signer->sketch.scheme,
                                                                     signer->info.perms);
        task->keys = out->keys == NULL ? NULL : out->keys + first * signer->info.bands;
        BM_TRY(hand_over(signer, thread, err));
    }
    return BM_OK;
}

static bm_status run_thread(void *ctx, uint32_t number, bm_error *err)
{
    progress *p = ctx;
    size_t range[2] = {0, 0};
    bm_status status = BM_OK;
    while (bm_doc_ranges_next(&p->ranges, number, range, &status, err))
        status = sign_range(p, &p->signer->threads[number], range, err);
    return status;
}

/* Count the hashes of a call, if the scheme signs their low halves. A call that is refused leaves
 * nothing behind: the caller may go on with other hashes. */
static bm_status look_at_low_halves(bm_signer *signer, const bm_documents *docs, bm_error *err)
{
    bm_low_halves *seen = &signer->low;
    if (!bm_documents_sign_low_halves(docs, signer->sketch.scheme))
        return BM_OK;
    const bm_status status =
        bm_low_halves_add(seen, docs->offsets, docs->hashes, docs->n_docs, err);
    if (status != BM_OK)
        bm_low_halves_begin(seen, seen->of, seen->scheme);
    return status;
}

/* Sign the documents of a call: one call at a time. */
static bm_status sign_call(bm_signer *signer, const bm_signer_call *call, bm_error *err)
{
    progress p = {.signer = signer, .call = call};
    BM_TRY(look_at_low_halves(signer, &call->docs, err));
    const bool alone = call->work <= SMALL || signer->info.threads == 1;
    bm_range_size size = call->docs.texts != NULL ? signer->text_range : signer->hash_range;
    if (signer->failed)
        return bm_fail(err, BM_ERR_DEVICE,
                       "the signer's device failed before (only close is left)");
    size.takers = alone ? 1 : size.takers;
    bm_meter_stage(&signer->meter, "sign", "documents");
    atomic_store(&signer->meter.stopped, false); /* of an earlier call */
    bm_doc_ranges_begin(&p.ranges, &call->docs, call->work, &size);
    p.ranges.meter = &signer->meter;
    bm_status status =
        alone ? run_thread(&p, 0, err) : bm_pool_run(signer->pool, run_thread, &p, err);
    bm_doc_ranges_end(&p.ranges);
    bm_status waited = wait_for_all(signer, status != BM_OK, status == BM_OK ? err : NULL);
    return status == BM_OK ? waited : status;
}

/* signer_tasks -- calls of a signer, one after another in the order in which they came.
 *
 * Every call takes a number. One that its maker waits for (bm_signer_sign) is done on the maker's
 * thread when its turn comes; what was submitted is done by a thread of the signer's, which is
 * started by the first of these. Tasks lie in the signer: submitting allocates nothing. */

static void tasks_init(bm_signer_tasks *tasks)
{
    pthread_mutex_init(&tasks->lock, NULL);
    pthread_cond_init(&tasks->changed, NULL);
}

/* Do a call when its turn has come. */
static bm_status do_call(bm_signer *signer, const bm_signer_call *call, bm_error *err)
{
    bm_signer_tasks *tasks = &signer->tasks;
    pthread_mutex_lock(&tasks->lock);
    const uint64_t turn = tasks->next_turn++;
    while (tasks->turn != turn)
        pthread_cond_wait(&tasks->changed, &tasks->lock);
    pthread_mutex_unlock(&tasks->lock);
    bm_status status = sign_call(signer, call, err);
    pthread_mutex_lock(&tasks->lock);
    tasks->turn++;
    pthread_cond_broadcast(&tasks->changed);
    pthread_mutex_unlock(&tasks->lock);
    return status;
}

/* --- what was submitted --- */

/* Under the lock; NULL: none. */
static bm_signer_task *find(bm_signer_tasks *tasks, bm_task_state state, uint64_t turn)
{
    for (size_t i = 0; i < BM_SIGNER_TASKS_MAX; i++)
        if (tasks->tasks[i].state == state && tasks->tasks[i].turn == turn)
            return &tasks->tasks[i];
    return NULL;
}

static void *do_tasks(void *arg)
{
    bm_signer *signer = arg;
    bm_signer_tasks *tasks = &signer->tasks;
    pthread_mutex_lock(&tasks->lock);
    while (!tasks->closing) {
        bm_signer_task *task = find(tasks, BM_TASK_WAITING, tasks->turn);
        if (task == NULL) {
            pthread_cond_wait(&tasks->changed, &tasks->lock);
            continue;
        }
        pthread_mutex_unlock(&tasks->lock);
        bm_status status = sign_call(signer, &task->call, &task->error);
        pthread_mutex_lock(&tasks->lock);
        task->status = status;
        task->state = BM_TASK_DONE;
        tasks->turn++;
        pthread_cond_broadcast(&tasks->changed);
    }
    pthread_mutex_unlock(&tasks->lock);
    return NULL;
}

/* Under the lock. */
static bm_status start(bm_signer *signer, bm_error *err)
{
    bm_signer_tasks *tasks = &signer->tasks;
    if (tasks->started)
        return BM_OK;
    int rc = bm_thread_start(&tasks->thread, do_tasks, signer);
    tasks->started = rc == 0;
    return rc == 0 ? BM_OK : bm_fail_thread(rc, err);
}

/* Have it done by the signer's thread; *task is its number. */
static bm_status enqueue(bm_signer *signer, const bm_signer_call *call, uint64_t *task,
                         bm_error *err)
{
    bm_signer_tasks *tasks = &signer->tasks;
    bm_signer_task *place = NULL;
    pthread_mutex_lock(&tasks->lock);
    bm_status status = BM_OK;
    BM_TRY_OUT(start(signer, err));
    for (size_t i = 0; place == NULL && i < BM_SIGNER_TASKS_MAX; i++)
        place = tasks->tasks[i].state == BM_TASK_FREE ? &tasks->tasks[i] : NULL;
    if (place == NULL)
        BM_TRY_OUT(bm_fail_field(err, "task",
                                 "%u tasks were submitted and not waited for (at most "
                                 "%u)",
                                 BM_SIGNER_TASKS_MAX, BM_SIGNER_TASKS_MAX));
    *place = (bm_signer_task){.state = BM_TASK_WAITING, .turn = tasks->next_turn++, .call = *call};
    *task = place->turn;
    pthread_cond_broadcast(&tasks->changed);
out:
    pthread_mutex_unlock(&tasks->lock);
    return status;
}

bm_status bm_signer_wait(bm_signer *signer, uint64_t task, bm_error *err)
{
    if (signer == NULL)
        return bm_fail_field(err, "signer", "no signer given");
    bm_signer_tasks *tasks = &signer->tasks;
    bm_signer_task *place;
    pthread_mutex_lock(&tasks->lock);
    while ((place = find(tasks, BM_TASK_DONE, task)) == NULL &&
           find(tasks, BM_TASK_WAITING, task) != NULL)
        pthread_cond_wait(&tasks->changed, &tasks->lock);
    bm_status status = BM_OK;
    if (place == NULL) {
        status = bm_fail_field(err, "task",
                               "there is no task %llu (submitted, and not yet waited "
                               "for)",
                               (unsigned long long)task);
    } else {
        status = place->status;
        if (status != BM_OK && err != NULL)
            *err = place->error;
        place->state = BM_TASK_FREE;
    }
    pthread_mutex_unlock(&tasks->lock);
    return status;
}

static void tasks_reset(bm_signer *signer)
{
    bm_signer_tasks *tasks = &signer->tasks;
    pthread_mutex_lock(&tasks->lock);
    tasks->closing = true;
    pthread_cond_broadcast(&tasks->changed);
    pthread_mutex_unlock(&tasks->lock);
    if (tasks->started)
        pthread_join(tasks->thread, NULL);
    pthread_cond_destroy(&tasks->changed);
    pthread_mutex_destroy(&tasks->lock);
}

#define BATCH_DOCS   65536u /* documents a batch, so that a million empty ones are not one batch */
#define BATCH_HASHES 4096u  /* hashes a batch, at least */
#define KEEP_BATCHES 8u     /* that a slot may hold between calls, without a bound of memory */
#define BYTES_A_HASH 16u    /* that a batch takes, with its text */
#define RANGE_WORK   (UINT64_C(256) << 10) /* about a second-level cache with its hashes */
#define LEAST_WORK   (UINT64_C(16) << 10)
#define HASH_WORK    4u /* as bm_document_work counts it */
#define WORD_WORK    5u /* bytes of text a shingle of words, about */
#define TAIL_SHARE   8u /* of a device's batch: the smallest */

BM_OPTIONS_INIT(signer, .text = BM_TEXT_DEFAULTS, .sketch = BM_SKETCH_DEFAULTS,
                .resources = BM_RESOURCE_DEFAULTS)

/* Check and copy the caller's options; perms is then known. */
static bm_status read_options(const bm_signer_options *options, bm_signer_options *used,
                              bm_error *err)
{
    *used = signer_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_signer_options, callbacks), used, err));
    const uint64_t n_keyed = (uint64_t)used->bands * used->rows;
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.text = &used->text,
                                                    .sketch = &used->sketch,
                                                    .device = &used->device,
                                                    .resources = &used->resources,
                                                    .callbacks = &used->callbacks},
                                 err));
    if ((used->bands == 0) != (used->rows == 0))
        return bm_fail_field(err, used->bands == 0 ? "rows" : "bands",
                             "%u bands of %u rows (both 0, or at least 1 of each)", used->bands,
                             used->rows);
    if (n_keyed > (used->sketch.perms != 0 ? used->sketch.perms : BM_PERMS_MAX))
        return bm_fail_field(err, "bands",
                             "%u bands of %u rows need %llu permutations (there are "
                             "%u)",
                             used->bands, used->rows, (unsigned long long)n_keyed,
                             used->sketch.perms != 0 ? used->sketch.perms : BM_PERMS_MAX);
    if (used->sketch.perms == 0)
        used->sketch.perms = n_keyed != 0 ? (uint32_t)n_keyed : BM_PERMS_DEFAULT;
    return BM_OK;
}

/* Choose how much a batch and a range may hold. */
static void choose_sizes(bm_signer *signer, const bm_signer_options *options)
{
    const bool device = !signer->backend->parallel;
    const uint64_t memory = options->resources.memory;
    size_t hashes = signer->backend->batch_hashes;
    if (memory != 0 && memory / BYTES_A_HASH / signer->n_slots < hashes)
        hashes = (size_t)(memory / BYTES_A_HASH / signer->n_slots);
    hashes = hashes < BATCH_HASHES ? BATCH_HASHES : hashes;
    signer->batch_hashes = hashes;
    signer->keep_hashes = hashes * (memory != 0 ? 2 : KEEP_BATCHES);
    signer->batch_docs =
        options->resources.batch_docs != 0 ? options->resources.batch_docs : BATCH_DOCS;
    const uint64_t work = bm_shingle_is_of_words(options->text.shingle) ? WORD_WORK : 1;
    bm_range_size size = {signer->info.threads, RANGE_WORK, LEAST_WORK};
    signer->text_range = signer->hash_range = size;
    if (device) { /* the device wants batches of its size, and few small ones */
        signer->text_range.most = hashes * work;
        signer->hash_range.most = hashes * HASH_WORK;
        signer->text_range.least = signer->text_range.most / TAIL_SHARE;
        signer->hash_range.least = signer->hash_range.most / TAIL_SHARE;
    }
}

typedef struct opening {
    bm_signer *signer;
    const bm_signer_options *options;
} opening;

/* On the thread that uses it, so that its memory is near to nobody else's. */
static bm_status open_hasher(void *ctx, uint32_t thread, bm_error *err)
{
    const opening *open = ctx;
    return bm_doc_hasher_init(&open->signer->threads[thread].hasher, &open->options->text,
                              open->options->device.cpu, err);
}

static bm_status open_threads(bm_signer *signer, const bm_signer_options *options, bm_error *err)
{
    const uint32_t n = signer->info.threads;
    const size_t depth = signer->backend->depth == 0 ? 1 : signer->backend->depth;
    signer->n_slots = n + (signer->backend->parallel ? 0 : depth);
    signer->slots = bm_alloc_aligned(signer->n_slots, sizeof *signer->slots);
    signer->threads = bm_alloc_aligned(n, sizeof *signer->threads);
    if (signer->slots == NULL || signer->threads == NULL)
        return bm_fail_nomem(err, signer->n_slots * sizeof *signer->threads);
    memset(signer->threads, 0, n * sizeof *signer->threads);
    memset(signer->slots, 0, signer->n_slots * sizeof *signer->slots);
    for (uint32_t i = 0; i < n; i++)
        signer->threads[i].slot = &signer->slots[i];
    BM_TRY(ring_init(signer, err));
    BM_TRY(bm_pool_open(n, &signer->pool, err));
    opening open = {signer, options};
    return bm_pool_run(signer->pool, open_hasher, &open, err);
}

/* The options are those of read_options. */
static bm_status open_signer(const bm_signer_options *used, bm_signer **out, bm_error *err)
{
    bm_signer *signer = NULL;
    BM_TRY(bm_new_zero(&signer, 1, err));
    const uint32_t threads = used->resources.threads;
    signer->info = (bm_signer_info){.perms = used->sketch.perms,
                                    .bands = used->bands,
                                    .rows = used->rows,
                                    .threads = threads != 0 ? threads : bm_cpu_count(),
                                    .word_bytes = bm_scheme_word_bytes(used->sketch.scheme)};
    signer->sketch = used->sketch;
    signer->bag = used->text.bag;
    bm_low_halves_begin(&signer->low, "`hashes`", used->sketch.scheme);
    bm_meter_init(&signer->meter, &used->callbacks);
    pthread_mutex_init(&signer->ring.lock, NULL);
    tasks_init(&signer->tasks);
    bm_status status = BM_OK;
    BM_TRY_OUT(open_device(used, signer, err));
    status = open_threads(signer, used, err);
out:
    if (status == BM_OK) {
        choose_sizes(signer, used);
        *out = signer;
    } else {
        bm_signer_close(signer);
    }
    return status;
}

bm_status bm_signer_open(const bm_signer_options *options, bm_signer **out, bm_error *err)
{
    bm_signer_options used;
    char *stop_words = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(read_options(options, &used, err));
    if (out == NULL)
        BM_TRY_OUT(bm_fail_field(err, "out", "no place for the signer given"));
    BM_TRY_OUT(bm_stop_words_load(&used.text, &stop_words, err));
    bm_scheme_set_hashing(&used.sketch, &used.text);
    status = open_signer(&used, out, err);
out:
    bm_free(stop_words); /* the threads have them by now */
    return status;
}

void bm_signer_close(bm_signer *signer)
{
    if (signer == NULL)
        return;
    bool stuck = false;
    atomic_store(&signer->closing, true);
    tasks_reset(signer);
    if (signer->backend != NULL) {
        signer->backend->ops->drain(signer->backend, NULL); /* slots are free after it, */
        stuck = signer->backend->stuck;                     /* or never */
        bm_device_set_close(&signer->devices);
    }
    bm_pool_close(signer->pool);
    for (size_t i = 0; !stuck && signer->slots != NULL && i < signer->n_slots; i++)
        bm_shingle_batch_reset(&signer->slots[i].batch);
    for (uint32_t i = 0; signer->threads != NULL && i < signer->info.threads; i++) {
        bm_doc_hasher_reset(&signer->threads[i].hasher);
        bm_free(signer->threads[i].scratch);
    }
    bm_free_all(signer->threads, signer->slots);
    ring_reset(&signer->ring);
    pthread_mutex_destroy(&signer->ring.lock);
    bm_meter_reset(&signer->meter);
    bm_free(signer);
}

const bm_signer_info *bm_signer_describe(const bm_signer *signer)
{
    return signer != NULL ? &signer->info : NULL;
}

/* --- calls --- */

/* Weights are there exactly where the scheme wants them; documents without a hash need none. */
static bm_status check_weights(const bm_signer *signer, bm_documents *docs, bm_error *err)
{
    static const double none = 1;
    const bool any = docs->n_docs != 0 && (docs->texts != NULL || docs->offsets[docs->n_docs] != 0);
    if (any && docs->hashes32 != NULL && bm_scheme_get(signer->sketch.scheme)->device.whole_hashes)
        return bm_fail_field(err, "hashes32", "`hashes32` under scheme %s (64-bit `hashes`)",
                             bm_option_word(BM_OPTION_SCHEME, signer->sketch.scheme));
    if (any || docs->weights != NULL)
        return bm_scheme_weights_check(&signer->sketch, docs->weights != NULL, err);
    docs->weights = &none;
    return BM_OK;
}

static bm_status accept_call(const bm_signer *signer, const bm_documents *documents,
                             const bm_signer_out *out, bm_signer_call *call, bm_error *err)
{
    *call = (bm_signer_call){.work = 0};
    if (signer == NULL)
        return bm_fail_field(err, "signer", "no signer given");
    BM_TRY(bm_sized_read(out, BM_SIZED_TYPE(bm_signer_out, n_shingles), &call->out, err));
    BM_TRY(bm_documents_accept(documents, &call->docs, &call->work, err));
    BM_TRY(check_weights(signer, &call->docs, err));
    if (call->out.keys != NULL && signer->info.bands == 0)
        return bm_fail_field(err, "keys",
                             "band keys are wanted of a signer without bands "
                             "(`bands` and `rows` are set when it is opened)");
    return BM_OK;
}

bm_status bm_signer_sign(bm_signer *signer, const bm_documents *documents, const bm_signer_out *out,
                         bm_error *err)
{
    bm_signer_call call;
    BM_TRY(accept_call(signer, documents, out, &call, err));
    return do_call(signer, &call, err);
}

bm_status bm_signer_sign_texts(bm_signer *signer, const bm_str *texts, size_t n_docs,
                               const bm_signer_out *out, bm_error *err)
{
    if (texts == NULL && n_docs != 0)
        return bm_fail_field(err, "texts", "`texts` is NULL and has %zu entries", n_docs);
    bm_documents documents = bm_documents_of_texts(texts, n_docs);
    return bm_signer_sign(signer, &documents, out, err);
}

bm_status bm_signer_submit(bm_signer *signer, const bm_documents *documents,
                           const bm_signer_out *out, uint64_t *task, bm_error *err)
{
    bm_signer_call call;
    BM_TRY(accept_call(signer, documents, out, &call, err));
    if (task == NULL)
        return bm_fail_field(err, "task", "no place for the task's number given");
    return enqueue(signer, &call, task, err);
}
