/* SPDX-License-Identifier: Apache-2.0 */
/* signer.c -- bm_signer: makes signatures and band keys of documents in memory, on all cores or one
 * device.
 *
 * Any number of calls may run at once, each on the thread that made it. To sign, a thread takes an
 * idle scratch, and gives it back afterwards. So small calls share only a few counters. The
 * signer's own threads, the helpers, help large calls, one call after another.
 *
 * Scratch memory exists as long as the signer, and grows to the size that the largest call needs.
 * So a call allocates nothing if its documents are like those of earlier calls, and if no more
 * calls run at once than before. After an error of its device, the signer can only be closed.
 *
 * Tests: tests/race/race_inmem.c, tests/unit/inmem/test_signer.c,
 *        tests/unit/inmem/test_signer_callers.c, tests/unit/inmem/test_signer_fork.c,
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
#include "base/handle.h"
#include "base/idle.h"
#include "base/memory.h"
#include "base/meter.h"
#include "base/sized_struct.h"
#include "base/system.h"
#include "base/threads.h"
#include "devices/device_set.h"
#include "inmem/documents.h"
#include "lsh/band_plan.h"
#include "lsh/verify.h"
#include "model/low_halves.h"
#include "model/option_check.h"
#include "model/option_words.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"
#include "text/stop_words.h"

typedef struct bm_signer_run bm_signer_run;

/* A batch of documents to sign. It has its own cache lines, because it is written for every
 * document. */
typedef struct bm_signer_slot {
    alignas(BM_ALIGNMENT) bm_shingle_batch batch;
    bm_sign_task task;
    bm_signer_run *run; /* while the slot is in flight: the call to which its documents belong */
} bm_signer_slot;

/* Work memory of one thread, on its own cache lines. */
typedef struct bm_signer_scratch {
    alignas(BM_ALIGNMENT) bm_doc_hasher hasher;
    bm_signer_slot *slot; /* the slot that the thread fills */
    uint64_t *counted;    /* for counting distinct hashes */
    size_t cap_counted;
} bm_signer_scratch;

/* Slots for a backend that is not `parallel`. When a thread has filled its slot, it takes the lock,
 * submits the slot, and continues with a spare slot. If `depth` slots are already in flight, it
 * first waits for the oldest; meanwhile other threads fill their slots. */
typedef struct bm_signer_ring {
    pthread_mutex_t lock;
    bm_signer_slot **in_flight,
        **spare; /* arrays of `depth` slots; n_in_flight + n_spare is always `depth` */
    size_t depth, oldest, n_in_flight, n_spare;
} bm_signer_ring;

/* The arguments of a call. */
typedef struct bm_signer_call {
    bm_documents docs;
    bm_signer_out out;
    uint32_t *words; /* signatures, as in bm_sign_task */
    uint64_t work;   /* work of all documents */
} bm_signer_call;

typedef enum bm_task_state { BM_TASK_FREE, BM_TASK_WAITING, BM_TASK_DONE } bm_task_state;

typedef struct bm_signer_task {
    bm_task_state state;
    uint64_t turn;
    bm_signer_call call;
    bm_status status;
    bm_error error;
} bm_signer_task;

/* Submitted tasks. They are numbered, and done in the order of their numbers. */
typedef struct bm_signer_tasks {
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t changed;
    uint64_t next_turn, turn; /* number of the next task to submit; number of the task that is being
                                 done or is done next */
    bool closing, started;    /* started: `thread` is running */
    pthread_t thread;         /* does the submitted tasks */
    bm_signer_task tasks[BM_SIGNER_TASKS_MAX];
} bm_signer_tasks;

struct bm_signer {
    bm_handle handle;
    bm_signer_info info;
    bm_text_options text; /* the list of stop words in it is `stop_words`, or built in */
    char *stop_words;
    const char *cpu; /* the library's own string for the instruction set */
    bm_sketch_options sketch;
    bm_meter meter; /* for opening, and for later messages about the device */
    bm_team *team;
    bm_device_set devices;
    bm_backend *backend; /* the backend that signs */
    bm_idle scratch;
    size_t batch_hashes, batch_docs;
    size_t keep_hashes; /* if a slot has memory for more hashes, the memory is freed */
    bm_range_size text_range, hash_range;
    bm_signer_ring ring;
    bm_signer_tasks tasks;
    atomic_bool closing;
    atomic_bool failed; /* the device has failed; set under ring.lock */
    bool bag;           /* documents are bags, even if they are given as hashes */
    pthread_mutex_t low_lock;
    bm_low_halves low; /* low halves of the 64-bit hashes of all calls since the last refused
                        * call */
};

/* signer_scratch -- scratches. One is created if none is idle, so their number is the most that
 * were in use at once. */

static void slot_free(bm_signer_slot *slot)
{
    if (slot != NULL)
        bm_shingle_batch_reset(&slot->batch);
    bm_free(slot);
}

static bm_status slot_new(bm_signer_slot **out, bm_error *err)
{
    BM_TRY(bm_new_aligned(out, 1, err));
    memset(*out, 0, sizeof **out);
    return BM_OK;
}

static void scratch_free(bm_signer_scratch *scratch)
{
    bm_doc_hasher_reset(&scratch->hasher);
    slot_free(scratch->slot);
    bm_free_all(scratch->counted, scratch);
}

static bm_status scratch_new(const bm_signer *signer, bm_signer_scratch **out, bm_error *err)
{
    bm_signer_scratch *scratch = NULL;
    BM_TRY(bm_new_aligned(&scratch, 1, err));
    memset(scratch, 0, sizeof *scratch);
    bm_status status = BM_OK;
    BM_TRY_OUT(slot_new(&scratch->slot, err));
    status = bm_doc_hasher_init(&scratch->hasher, &signer->text, signer->cpu, err);
out:
    if (status == BM_OK)
        *out = scratch;
    else
        scratch_free(scratch);
    return status;
}

static bm_status scratch_take(bm_signer *signer, bm_signer_scratch **out, bm_error *err)
{
    *out = bm_idle_take(&signer->scratch);
    return *out != NULL ? BM_OK : scratch_new(signer, out, err);
}

static void scratch_give(bm_signer *signer, bm_signer_scratch *scratch)
{
    if (!bm_idle_give(&signer->scratch, scratch))
        scratch_free(scratch);
}

/* signer_device -- the signer's device.
 *
 * `auto` takes the first GPU, or, if it cannot be opened, the CPU. Any other word must select
 * exactly one device. If the device fails later, calls fail, since the signer does not sign its
 * batches again. */

/* Open the device that options->device.device selects (NULL: "cpu"). BM_ERR_USAGE: a word other
 * than "auto" does not select exactly one device. */
static bm_status open_device(const bm_signer_options *options, bm_signer *signer, bm_error *err)
{
    const char *words = options->device.device;
    const bool automatic = bm_device_is_auto(words);
    const bm_callbacks callbacks = bm_meter_callbacks(&signer->meter);
    bm_device_pick pick;
    BM_TRY(bm_device_pick_open(&options->device, &callbacks, &pick, err));
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
                             .bands = options->bands.bands,
                             .rows = options->bands.rows,
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

/* signer_run -- the state of a call in progress. It is on the caller's stack. */

struct bm_signer_run {
    bm_signer *signer;
    const bm_signer_call *call;
    bm_meter meter;
    bm_doc_ranges ranges;
    size_t n_in_flight;   /* slots of this call in flight; protected by ring.lock */
    pthread_mutex_t lock; /* protects `status` and *err while several threads work on the call */
    bm_status status;     /* the first failure of a thread */
    bm_error *err;        /* from the caller; may be NULL */
};

static void run_failed(bm_signer_run *run, bm_status status, const bm_error *error)
{
    pthread_mutex_lock(&run->lock);
    if (run->status == BM_OK) {
        run->status = status;
        if (run->err != NULL)
            *run->err = *error;
    }
    pthread_mutex_unlock(&run->lock);
}

static bm_status ring_init(bm_signer_ring *ring, size_t depth, bm_error *err)
{
    BM_TRY(bm_new_zero(&ring->in_flight, depth, err));
    BM_TRY(bm_new_zero(&ring->spare, depth, err));
    ring->depth = depth;
    for (; ring->n_spare < depth; ring->n_spare++)
        BM_TRY(slot_new(&ring->spare[ring->n_spare], err));
    return BM_OK;
}

/* Free the ring. No slot may be in flight. */
static void ring_reset(bm_signer_ring *ring)
{
    while (ring->n_spare > 0)
        slot_free(ring->spare[--ring->n_spare]);
    bm_free_all(ring->in_flight, ring->spare);
}

/* Make the oldest slot in flight a spare slot. This function and the next three are called with
 * ring.lock held. */
static bm_signer_slot *pop_oldest(bm_signer_ring *ring)
{
    bm_signer_slot *slot = ring->in_flight[ring->oldest];
    ring->oldest = (ring->oldest + 1) % ring->depth;
    ring->n_in_flight--;
    ring->spare[ring->n_spare++] = slot;
    slot->run->n_in_flight--;
    return slot;
}

/* A call of the backend has failed for this run. A lack of memory fails only this run. Any other
 * failure is one of the device: all tasks in flight are drained, and fail as well. Afterwards only
 * the callers use their arrays, unless the device is stuck. */
static void backend_failed(bm_signer *signer, bm_signer_run *run, bm_status status,
                           const bm_error *error)
{
    run_failed(run, status, error);
    if (status == BM_ERR_NOMEM)
        return;
    bm_error others = {0};
    bm_fail(&others, BM_ERR_DEVICE, "the signer's device failed");
    atomic_store(&signer->failed, true);
    signer->backend->ops->drain(signer->backend, NULL);
    while (signer->ring.n_in_flight > 0)
        run_failed(pop_oldest(&signer->ring)->run, BM_ERR_DEVICE, &others);
}

/* Wait for the oldest slot, which may belong to another call. Then check a sample of its results
 * (device_set.h). */
static void wait_for_oldest(bm_signer *signer)
{
    bm_error error = {0};
    bm_signer_slot *slot = pop_oldest(&signer->ring);
    bm_status status = signer->backend->ops->wait(signer->backend, &slot->task, &error);
    if (status == BM_OK)
        status = bm_device_set_check(&signer->devices, &signer->devices.device_workers[0],
                                     &slot->task, &error);
    if (status != BM_OK)
        backend_failed(signer, slot->run, status, &error);
}

static void submit(bm_signer *signer, bm_signer_run *run, bm_signer_scratch *scratch)
{
    bm_signer_ring *ring = &signer->ring;
    bm_error error = {0};
    if (ring->n_in_flight == ring->depth)
        wait_for_oldest(signer);
    if (atomic_load(&signer->failed)) {
        bm_fail(&error, BM_ERR_DEVICE, "the signer's device failed");
        run_failed(run, BM_ERR_DEVICE, &error);
        return;
    }
    bm_signer_slot *slot = scratch->slot;
    const bm_status status = signer->backend->ops->submit(signer->backend, &slot->task, &error);
    if (status != BM_OK) {
        backend_failed(signer, run, status, &error);
        return;
    }
    slot->run = run;
    run->n_in_flight++;
    ring->in_flight[(ring->oldest + ring->n_in_flight++) % ring->depth] = slot;
    scratch->slot = ring->spare[--ring->n_spare];
}

/* Sign the documents in the slot of the scratch, or submit the slot and give the scratch a spare
 * slot. */
static bm_status hand_over(bm_signer_run *run, bm_signer_scratch *scratch, bm_error *err)
{
    bm_signer *signer = run->signer;
    bm_backend *backend = signer->backend;
    if (bm_device_set_is_for_cpu(&signer->devices, &scratch->slot->task))
        return bm_device_set_sign_cpu(&signer->devices, &scratch->slot->task, err);
    if (backend->parallel) {
        BM_TRY(backend->ops->submit(backend, &scratch->slot->task, err));
        return backend->ops->wait(backend, &scratch->slot->task, err);
    }
    pthread_mutex_lock(&signer->ring.lock);
    submit(signer, run, scratch);
    pthread_mutex_unlock(&signer->ring.lock);
    pthread_mutex_lock(&run->lock);
    const bm_status status = run->status; /* the error is already in *run->err */
    pthread_mutex_unlock(&run->lock);
    return status;
}

/* Wait until no slot of the call is in flight. Afterwards only the caller uses its arrays, unless
 * the device is stuck. */
static void wait_for_all(bm_signer_run *run)
{
    bm_signer *signer = run->signer;
    if (signer->backend->parallel)
        return;
    pthread_mutex_lock(&signer->ring.lock);
    while (run->n_in_flight > 0)
        wait_for_oldest(signer);
    pthread_mutex_unlock(&signer->ring.lock);
}

/* signer_work -- signs the documents of a call, on all threads.
 *
 *     range of documents -> a slot: shingle hashes -> backend -> words and keys, directly into the
 *     caller's arrays
 *
 * A thread takes a range (documents.h), and signs it slot by slot. A slot has whole documents, up
 * to the number of hashes that the backend wants. If the caller gives 64-bit hashes, they are
 * signed where they are; 32-bit hashes are widened and copied into the slot. The thread that signs
 * a document writes its rows, so results need no sorting. If a call has at most SMALL work, the
 * caller signs it alone, since waking a thread would cost as much. */

#define SMALL    (UINT64_C(96) << 10) /* work, as bm_document_work counts it */
#define A_HELPER (UINT64_C(32) << 10) /* work for which one more helper is woken */

/* Append the 32-bit hashes of a document to the batch, including repeated hashes. */
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

/* Count the distinct hashes of a document. The hashes are not changed. */
static bm_status count_distinct(bm_signer_scratch *scratch, const uint64_t *hashes, size_t n,
                                uint32_t *out, bm_error *err)
{
    *out = 0;
    if (n == 0)
        return BM_OK;
    BM_TRY(bm_grow_array(&scratch->counted, &scratch->cap_counted, 2 * n, err));
    memcpy(scratch->counted, hashes, n * sizeof *hashes);
    bm_hashes_sort(scratch->counted, n, scratch->counted + n);
    *out = (uint32_t)bm_hashes_distinct(scratch->counted, n);
    return BM_OK;
}

static bm_status count_shingles(bm_signer_scratch *scratch, bool distinct, uint32_t *n_shingles,
                                bm_error *err)
{
    const bm_sign_task *task = &scratch->slot->task;
    for (size_t i = 0; i < task->n_docs; i++) {
        const size_t n = (size_t)(task->offsets[i + 1] - task->offsets[i]);
        n_shingles[i] = (uint32_t)n;
        if (!distinct)
            BM_TRY(
                count_distinct(scratch, task->hashes + task->offsets[i], n, &n_shingles[i], err));
    }
    return BM_OK;
}

/* Fill the slot with documents from range[0] on, up to the size of a batch, and advance
 * range[0]. */
static bm_status fill(const bm_signer *signer, bm_signer_scratch *scratch, const bm_documents *docs,
                      size_t range[2], bm_error *err)
{
    bm_signer_slot *slot = scratch->slot;
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
            BM_TRY(bm_doc_hasher_add(&scratch->hasher, docs, doc, &slot->batch, err));
        n_hashes = direct ? (size_t)(docs->offsets[doc + 1] - docs->offsets[first])
                          : bm_shingle_batch_hashes(&slot->batch);
    }
    static const uint64_t none; /* used if no document of the slot has a hash */
    const uint64_t *own = slot->batch.hashes != NULL ? slot->batch.hashes : &none;
    slot->task = (bm_sign_task){.offsets = direct ? docs->offsets + first : slot->batch.offsets,
                                .hashes = direct ? docs->hashes : own,
                                .weights = docs->weights,
                                .n_docs = doc - first};
    range[0] = doc;
    return BM_OK;
}

static bm_status sign_range(bm_signer_run *run, bm_signer_scratch *scratch, const size_t range[2],
                            bm_error *err)
{
    bm_signer *signer = run->signer;
    const bm_documents *docs = &run->call->docs;
    const bm_signer_out *out = &run->call->out;
    size_t left[] = {range[0], range[1]};
    if (atomic_load(&signer->closing))
        return bm_fail(err, BM_ERR_CANCELLED, "the signer is being closed");
    while (left[0] < left[1]) {
        const size_t first = left[0];
        BM_TRY(fill(signer, scratch, docs, left, err));
        if (out->n_shingles != NULL)
            BM_TRY(count_shingles(scratch, docs->texts != NULL || signer->bag,
                                  out->n_shingles + first, err));
        if (run->call->words == NULL && out->keys == NULL)
            continue;
        bm_sign_task *task = &scratch->slot->task;
        task->words = run->call->words == NULL
                          ? NULL
                          : run->call->words + first * bm_scheme_row_uints(signer->sketch.scheme,
                                                                           signer->info.perms);
        task->keys = out->keys == NULL ? NULL : out->keys + first * signer->info.bands;
        BM_TRY(hand_over(run, scratch, err));
    }
    return BM_OK;
}

/* The caller's share of the work: sign ranges until none is left. */
static bm_status sign_ranges(bm_signer_run *run, bm_error *err)
{
    bm_signer_scratch *scratch = NULL;
    size_t range[2] = {0, 0};
    BM_TRY(scratch_take(run->signer, &scratch, err));
    bm_status status = BM_OK;
    while (bm_doc_ranges_next(&run->ranges, 0, range, &status, err))
        status = sign_range(run, scratch, range, err);
    scratch_give(run->signer, scratch);
    return status;
}

/* A helper's share of the work: sign one range. Returns false if no range was left, or after a
 * failure: the helper should then stop helping. */
static bool help_sign(void *ctx)
{
    bm_signer_run *run = ctx;
    bm_signer_scratch *scratch = NULL;
    bm_error error = {0};
    size_t range[2] = {0, 0};
    bm_status status = BM_OK;
    if (!bm_doc_ranges_next(&run->ranges, 1, range, &status, &error))
        return false;
    BM_TRY_OUT(scratch_take(run->signer, &scratch, &error));
    status = sign_range(run, scratch, range, &error);
    scratch_give(run->signer, scratch);
out:
    bm_doc_ranges_done(&run->ranges, range, status);
    if (status != BM_OK)
        run_failed(run, status, &error);
    return status == BM_OK;
}

/* If the scheme signs only the low halves of hashes, check the halves of a call, together with
 * those of earlier calls. After a refused call the check begins anew, so that the caller can
 * continue with other hashes. */
static bm_status look_at_low_halves(bm_signer *signer, const bm_documents *docs, bm_error *err)
{
    bm_low_halves *seen = &signer->low;
    if (!bm_documents_sign_low_halves(docs, signer->sketch.scheme))
        return BM_OK;
    pthread_mutex_lock(&signer->low_lock);
    const bm_status status =
        bm_low_halves_add(seen, docs->offsets, docs->hashes, docs->n_docs, err);
    if (status != BM_OK)
        bm_low_halves_begin(seen, seen->of, seen->scheme);
    pthread_mutex_unlock(&signer->low_lock);
    return status;
}

static void sign_all(bm_signer_run *run, bool alone)
{
    bm_team *team = run->signer->team;
    bm_team_work work;
    bm_error error;
    if (!alone)
        bm_team_begin(team, help_sign, run, run->call->work / A_HELPER, &work);
    const bm_status status = sign_ranges(run, &error);
    if (status != BM_OK) {
        bm_doc_ranges_done(&run->ranges, (const size_t[]){0, 0}, status);
        run_failed(run, status, &error);
    }
    if (!alone)
        bm_team_end(team, &work);
    wait_for_all(run);
}

/* Sign the documents of a call, on this thread and, if the call is large, on helpers. */
static bm_status sign_call(bm_signer *signer, const bm_signer_call *call, bm_error *err)
{
    BM_TRY(look_at_low_halves(signer, &call->docs, err));
    if (atomic_load(&signer->failed))
        return bm_fail(err, BM_ERR_DEVICE,
                       "the signer's device failed before (only close is left)");
    const bm_callbacks callbacks = bm_handle_callbacks(&signer->handle);
    const bool alone = call->work <= SMALL || signer->info.threads == 1;
    bm_range_size size = call->docs.texts != NULL ? signer->text_range : signer->hash_range;
    size.takers = alone ? 1 : size.takers;
    bm_signer_run run; /* not zeroed: its meter is large and seldom used */
    run.signer = signer;
    run.call = call;
    run.n_in_flight = 0;
    run.status = BM_OK;
    run.err = err;
    pthread_mutex_init(&run.lock, NULL);
    bm_doc_ranges_begin(&run.ranges, &call->docs, call->work, &size);
    if (callbacks.progress != NULL || callbacks.cancelled != NULL) {
        bm_meter_init(&run.meter, &callbacks);
        bm_meter_stage(&run.meter, "sign", "documents");
        run.ranges.meter = &run.meter;
    }
    sign_all(&run, alone);
    if (run.ranges.meter != NULL)
        bm_meter_reset(&run.meter);
    bm_doc_ranges_end(&run.ranges);
    pthread_mutex_destroy(&run.lock);
    return run.status;
}

/* signer_tasks -- does submitted tasks, one after another, in order.
 *
 * The first submitted task starts a thread of the signer that does all tasks. Meanwhile other
 * threads may call the signer. Tasks are stored in the signer, so submitting allocates nothing. */

static void tasks_init(bm_signer_tasks *tasks)
{
    pthread_mutex_init(&tasks->lock, NULL);
    pthread_cond_init(&tasks->changed, NULL);
}

/* Find the task with this state and number; NULL: there is none. tasks->lock is held. */
static bm_signer_task *find(bm_signer_tasks *tasks, bm_task_state state, uint64_t turn)
{
    for (size_t i = 0; i < BM_SIGNER_TASKS_MAX; i++)
        if (tasks->tasks[i].state == state && tasks->tasks[i].turn == turn)
            return &tasks->tasks[i];
    return NULL;
}

/* When the signer closes, end the tasks that have not begun, because threads may be waiting for
 * them. tasks->lock is held. */
static void cancel_waiting(bm_signer_tasks *tasks)
{
    for (size_t i = 0; i < BM_SIGNER_TASKS_MAX; i++) {
        bm_signer_task *task = &tasks->tasks[i];
        if (task->state != BM_TASK_WAITING)
            continue;
        task->status = bm_fail(&task->error, BM_ERR_CANCELLED, "the signer is being closed");
        task->state = BM_TASK_DONE;
    }
    pthread_cond_broadcast(&tasks->changed);
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
    cancel_waiting(tasks);
    pthread_mutex_unlock(&tasks->lock);
    return NULL;
}

/* Start the thread that does tasks, if it is not running. tasks->lock is held. */
static bm_status start(bm_signer *signer, bm_error *err)
{
    bm_signer_tasks *tasks = &signer->tasks;
    if (tasks->started)
        return BM_OK;
    int rc = bm_thread_start(&tasks->thread, do_tasks, signer);
    tasks->started = rc == 0;
    return rc == 0 ? BM_OK : bm_fail_thread(rc, err);
}

/* Submit a call as a task. *task becomes its number. */
static bm_status enqueue(bm_signer *signer, const bm_signer_call *call, uint64_t *task,
                         bm_error *err)
{
    bm_signer_tasks *tasks = &signer->tasks;
    bm_signer_task *entry = NULL;
    pthread_mutex_lock(&tasks->lock);
    bm_status status = BM_OK;
    BM_TRY_OUT(start(signer, err));
    for (size_t i = 0; entry == NULL && i < BM_SIGNER_TASKS_MAX; i++)
        entry = tasks->tasks[i].state == BM_TASK_FREE ? &tasks->tasks[i] : NULL;
    if (entry == NULL)
        BM_TRY_OUT(bm_fail_field(err, "task",
                                 "%u tasks were submitted and not waited for (at most "
                                 "%u)",
                                 BM_SIGNER_TASKS_MAX, BM_SIGNER_TASKS_MAX));
    *entry = (bm_signer_task){.state = BM_TASK_WAITING, .turn = tasks->next_turn++, .call = *call};
    *task = entry->turn;
    pthread_cond_broadcast(&tasks->changed);
out:
    pthread_mutex_unlock(&tasks->lock);
    return status;
}

static bm_status wait_for_task(bm_signer_tasks *tasks, uint64_t task, bm_error *err)
{
    bm_signer_task *entry;
    pthread_mutex_lock(&tasks->lock);
    while ((entry = find(tasks, BM_TASK_DONE, task)) == NULL &&
           find(tasks, BM_TASK_WAITING, task) != NULL)
        pthread_cond_wait(&tasks->changed, &tasks->lock);
    bm_status status = BM_OK;
    if (entry == NULL) {
        status = bm_fail_field(err, "task",
                               "there is no task %llu (submitted, and not yet waited "
                               "for)",
                               (unsigned long long)task);
    } else {
        status = entry->status;
        if (status != BM_OK && err != NULL)
            *err = entry->error;
        entry->state = BM_TASK_FREE;
    }
    pthread_mutex_unlock(&tasks->lock);
    return status;
}

static void tasks_close(bm_signer_tasks *tasks)
{
    pthread_mutex_lock(&tasks->lock);
    tasks->closing = true;
    pthread_mutex_unlock(&tasks->lock);
    pthread_cond_broadcast(&tasks->changed);
}

/* Call this after tasks_close, once no thread waits for a task. */
static void tasks_reset(bm_signer_tasks *tasks)
{
    if (tasks->started)
        pthread_join(tasks->thread, NULL);
    pthread_cond_destroy(&tasks->changed);
    pthread_mutex_destroy(&tasks->lock);
}

#define BATCH_DOCS   65536u /* most documents in a batch; limits batches of empty documents */
#define BATCH_HASHES 4096u  /* least value of signer.batch_hashes */
#define KEEP_BATCHES 8u     /* batches for which a slot keeps memory, without a memory limit */
#define BYTES_A_HASH 16u    /* bytes of a hash in a batch, including its text */
/* Most work of a range. A range and its hashes then take about the size of an L2 cache. */
#define RANGE_WORK (UINT64_C(256) << 10)
#define LEAST_WORK (UINT64_C(16) << 10)
#define HASH_WORK  4u /* work per hash, as bm_document_work counts it */
#define WORD_WORK  5u /* approximate bytes of text per shingle of words */
#define TAIL_SHARE 8u /* the smallest range is an eighth of a device's batch */

BM_OPTIONS_INIT(signer, .text = BM_TEXT_DEFAULTS, .sketch = BM_SKETCH_DEFAULTS,
                .bands = BM_BAND_DEFAULTS, .resources = BM_RESOURCE_DEFAULTS)

/* Check and copy the caller's options, and resolve perms. If band keys are wanted, also resolve
 * bands and rows. */
static bm_status read_options(const bm_signer_options *options, bm_signer_options *used,
                              bm_error *err)
{
    *used = signer_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_signer_options, callbacks), used, err));
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.text = &used->text,
                                                    .sketch = &used->sketch,
                                                    .bands = &used->bands,
                                                    .device = &used->device,
                                                    .resources = &used->resources,
                                                    .callbacks = &used->callbacks},
                                 err));
    used->sketch.perms = bm_band_perms_of_options(&used->bands, used->sketch.perms);
    bm_band_plan plan = {0};
    if (used->band_keys)
        BM_TRY(bm_band_plan_of_options(&used->bands, used->sketch.perms, &plan, err));
    used->bands.bands = plan.bands;
    used->bands.rows = plan.rows;
    return BM_OK;
}

/* Choose the sizes of batches and ranges. */
static void choose_sizes(bm_signer *signer, const bm_signer_options *options)
{
    const bool device = !signer->backend->parallel;
    const uint64_t memory = options->resources.memory;
    const size_t n_slots = signer->info.threads + signer->ring.depth;
    size_t hashes = signer->backend->batch_hashes;
    if (memory != 0 && memory / BYTES_A_HASH / n_slots < hashes)
        hashes = (size_t)(memory / BYTES_A_HASH / n_slots);
    hashes = hashes < BATCH_HASHES ? BATCH_HASHES : hashes;
    signer->batch_hashes = hashes;
    signer->keep_hashes = hashes * (memory != 0 ? 2 : KEEP_BATCHES);
    signer->batch_docs =
        options->resources.batch_docs != 0 ? options->resources.batch_docs : BATCH_DOCS;
    const uint64_t work = bm_shingle_is_of_words(options->text.shingle) ? WORD_WORK : 1;
    bm_range_size size = {signer->info.threads, RANGE_WORK, LEAST_WORK};
    signer->text_range = signer->hash_range = size;
    if (device) { /* a device needs batches of its own size, and few smaller ones */
        signer->text_range.most = hashes * work;
        signer->hash_range.most = hashes * HASH_WORK;
        signer->text_range.least = signer->text_range.most / TAIL_SHARE;
        signer->hash_range.least = signer->hash_range.most / TAIL_SHARE;
    }
}

/* Open the device, and allocate what all calls share. `used`: options from read_options. */
static bm_status open_signer(const bm_signer_options *used, bm_signer *signer, bm_error *err)
{
    bm_isa isa;
    bm_signer_scratch *first = NULL;
    BM_TRY(bm_isa_choose(used->device.cpu, &isa, err));
    signer->cpu = bm_isa_name(isa);
    BM_TRY(scratch_new(signer, &first, err)); /* also checks the text options */
    scratch_give(signer, first);
    BM_TRY(open_device(used, signer, err));
    if (!signer->backend->parallel)
        BM_TRY(ring_init(&signer->ring, signer->backend->depth == 0 ? 1 : signer->backend->depth,
                         err));
    choose_sizes(signer, used);
    return bm_team_open(signer->info.threads - 1, &signer->team, err);
}

/* Initialize the members that need no device and no scratch. Afterwards the signer can be
 * closed. */
static bm_status begin_signer(const bm_signer_options *used, bm_signer *signer, bm_error *err)
{
    const uint32_t threads = used->resources.threads;
    memset(signer, 0, sizeof *signer);
    BM_TRY(bm_handle_init(&signer->handle, "signer", &used->callbacks, err));
    signer->info = (bm_signer_info){.perms = used->sketch.perms,
                                    .bands = used->bands.bands,
                                    .rows = used->bands.rows,
                                    .threads = threads != 0 ? threads : bm_cpu_count(),
                                    .value_bytes = bm_scheme_value_bytes(used->sketch.scheme)};
    signer->text = used->text;
    signer->sketch = used->sketch;
    signer->bag = used->text.bag;
    const bm_callbacks callbacks = bm_handle_callbacks(&signer->handle);
    bm_meter_init(&signer->meter, &callbacks);
    bm_low_halves_begin(&signer->low, "`hashes`", used->sketch.scheme);
    pthread_mutex_init(&signer->low_lock, NULL);
    pthread_mutex_init(&signer->ring.lock, NULL);
    tasks_init(&signer->tasks);
    return BM_OK;
}

bm_status bm_signer_open(const bm_signer_options *options, bm_signer **out, bm_error *err)
{
    bm_signer_options used;
    bm_signer *signer = NULL;
    char *stop_words = NULL;
    bm_status status = BM_OK;
    BM_TRY(read_options(options, &used, err));
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the signer given");
    BM_TRY(bm_stop_words_load(&used.text, &stop_words, err));
    bm_scheme_set_hashing(&used.sketch, &used.text);
    BM_TRY_OUT(bm_new_aligned(&signer, 1, err));
    BM_TRY_OUT(begin_signer(&used, signer, err));
    signer->stop_words = stop_words;
    status = open_signer(&used, signer, err);
    if (status == BM_OK)
        *out = signer;
    else
        bm_signer_close(signer);
    return status;
out:
    bm_free_all(signer, stop_words);
    return status;
}

/* Free the idle scratches, the stop words, and the signer itself. */
static void free_memory(bm_signer *signer)
{
    bm_signer_scratch *scratch;
    while ((scratch = bm_idle_take(&signer->scratch)) != NULL)
        scratch_free(scratch);
    bm_free_all(signer->stop_words, signer);
}

/* Close the signer in a forked child. When the process forked, other threads may have been in
 * calls. The data that they used are in an unknown state and cannot be freed, and a driver cannot
 * be called in a child. So these data stay, like other memory of threads that the child does not
 * have. A device other than the native CPU stays too. */
static void forget(bm_signer *signer)
{
    bm_team_forget(signer->team);
    if (signer->backend != NULL && signer->backend->parallel)
        bm_device_set_close(&signer->devices);
    free_memory(signer);
}

static void close_here(bm_signer *signer)
{
    bool stuck = false;
    atomic_store(&signer->closing, true);
    tasks_close(&signer->tasks);
    bm_handle_await(&signer->handle);
    tasks_reset(&signer->tasks);
    bm_team_close(signer->team);
    if (signer->backend != NULL) {
        signer->backend->ops->drain(signer->backend, NULL); /* ends all slots in flight */
        stuck = signer->backend->stuck;                     /* if stuck, slots are never freed */
        bm_device_set_close(&signer->devices);
    }
    if (!stuck)
        ring_reset(&signer->ring);
    pthread_mutex_destroy(&signer->ring.lock);
    pthread_mutex_destroy(&signer->low_lock);
    bm_meter_reset(&signer->meter);
    bm_handle_reset(&signer->handle);
    free_memory(signer);
}

void bm_signer_close(bm_signer *signer)
{
    if (signer == NULL)
        return;
    switch (bm_handle_close(&signer->handle)) {
    case BM_CLOSING:
        close_here(signer);
        break;
    case BM_CLOSING_FORKED:
        forget(signer);
        break;
    case BM_CLOSING_REFUSED:
        break;
    }
}

const bm_signer_info *bm_signer_describe(const bm_signer *signer)
{
    return signer != NULL ? &signer->info : NULL;
}

/* --- calls --- */

/* Check that weights are given if the scheme needs them, and only then. Documents without hashes
 * need no weights. A scheme of whole hashes refuses 32-bit hashes. */
static bm_status check_weights(const bm_signer *signer, bm_documents *docs, bm_error *err)
{
    static const double none = 1;
    const bool any = docs->n_docs != 0 && (docs->texts != NULL || docs->offsets[docs->n_docs] != 0);
    if (any && docs->hashes32 != NULL && bm_scheme_get(signer->sketch.scheme)->device.whole_hashes)
        return bm_fail_field(err, "hashes32", "`hashes32` under scheme %s (64-bit `hashes`)",
                             bm_option_name(BM_OPTION_SCHEME, signer->sketch.scheme));
    if (any || docs->weights != NULL)
        return bm_scheme_weights_check(&signer->sketch, docs->weights != NULL, err);
    docs->weights = &none;
    return BM_OK;
}

static bm_status accept_call(const bm_signer *signer, const bm_documents *documents,
                             const bm_signer_out *out, bm_signer_call *call, bm_error *err)
{
    *call = (bm_signer_call){.work = 0};
    BM_TRY(bm_sized_read(out, BM_SIZED_TYPE(bm_signer_out, n_shingles), &call->out, err));
    BM_TRY(bm_documents_accept(documents, &call->docs, &call->work, err));
    BM_TRY(check_weights(signer, &call->docs, err));
    if (call->out.keys != NULL && signer->info.bands == 0)
        return bm_fail_field(err, "keys", "`keys` of a signer that was opened without `band_keys`");
    const bool wide = signer->info.value_bytes == sizeof *call->out.signatures64;
    if (wide ? call->out.signatures != NULL : call->out.signatures64 != NULL)
        return bm_fail_field(err, wide ? "signatures" : "signatures64",
                             "`%s` of scheme %s (`%s`, for its values have %u bits)",
                             wide ? "signatures" : "signatures64",
                             bm_option_name(BM_OPTION_SCHEME, signer->sketch.scheme),
                             wide ? "signatures64" : "signatures", 8 * signer->info.value_bytes);
    call->words = wide ? (uint32_t *)call->out.signatures64 : call->out.signatures;
    return BM_OK;
}

static bm_status enter(bm_signer *signer, unsigned *gate, bm_error *err)
{
    return signer != NULL ? bm_handle_enter(&signer->handle, gate, err)
                          : bm_fail_field(err, "signer", "no signer given");
}

bm_status bm_signer_sign(bm_signer *signer, const bm_documents *documents, const bm_signer_out *out,
                         bm_error *err)
{
    bm_signer_call call;
    unsigned gate = 0;
    BM_TRY(enter(signer, &gate, err));
    bm_status status = accept_call(signer, documents, out, &call, err);
    if (status == BM_OK)
        status = sign_call(signer, &call, err);
    bm_handle_leave(&signer->handle, gate);
    return status;
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
    unsigned gate = 0;
    BM_TRY(enter(signer, &gate, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(accept_call(signer, documents, out, &call, err));
    if (task == NULL)
        BM_TRY_OUT(bm_fail_field(err, "task", "no place for the task's number given"));
    status = enqueue(signer, &call, task, err);
out:
    bm_handle_leave(&signer->handle, gate);
    return status;
}

bm_status bm_signer_wait(bm_signer *signer, uint64_t task, bm_error *err)
{
    unsigned gate = 0;
    BM_TRY(enter(signer, &gate, err));
    const bm_status status = wait_for_task(&signer->tasks, task, err);
    bm_handle_leave(&signer->handle, gate);
    return status;
}
