/* bench_work.c -- resident hashes, text and the arithmetic limit as repeatable work. See
 * bench_work.h.
 *
 * Tests: tests/unit/bench/test_bench_run.c */
#include "bench/bench_work.h"

#include <stdalign.h>
#include <string.h>

#include "model/scheme_facts.h"
#include "cpu/cpu_backend.h"
#include "opencl/opencl_backend.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

#define LIMIT_ROUNDS       200000u           /* a millisecond or so */
#define NATIVE_TEXT_HASHES ((size_t)1 << 14) /* of a task: stays in the second-level cache */
#define DEVICE_TEXT_HASHES ((size_t)1 << 21) /* two a thread: 16 MB each */

/* --- a device and its workers --- */

bm_status bm_bench_device_open(const bm_bench_options *options, const bm_device_info *info,
                               uint32_t n_workers, bm_bench_device *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    pthread_mutex_init(&out->lock, NULL);
    out->info = info;
    out->row_uints = bm_scheme_row_uints(options->sketch.scheme, options->sketch.perms);
    out->n_workers = n_workers;
    BM_TRY(bm_new_zero(&out->workers, n_workers, err));
    bm_device_settings settings = bm_device_settings_of(&options->device);
    settings.profile = true;
    bm_backend_cfg cfg = {.sketch = options->sketch,
                          .device = info->spec,
                          .cpu = options->device.cpu,
                          .cache_dir = options->device.cache_dir,
                          .settings = &settings,
                          .callbacks = &options->callbacks};
    const bm_backend_ops *ops =
        info->kind == BM_DEVICE_NATIVE ? &bm_backend_cpu : &bm_backend_opencl;
    return ops->open(&cfg, &out->backend, err);
}

void bm_bench_device_close(bm_bench_device *device)
{
    bm_backend *backend = device->backend;
    const bool stuck =
        backend != NULL && backend->ops->drain(backend, NULL) != BM_OK && backend->stuck;
    bm_backend_close(backend);
    if (stuck)
        device->workers = NULL; /* the device may come back, and write to them */
    for (uint32_t w = 0; device->workers != NULL && w < device->n_workers; w++) {
        bm_bench_worker *worker = &device->workers[w];
        bm_shingler_close(worker->shingler);
        for (size_t s = 0; s < BM_BENCH_SLOTS; s++) {
            bm_shingle_batch_reset(&worker->slots[s].batch);
            bm_free(worker->slots[s].words);
        }
    }
    bm_free(device->workers);
    pthread_mutex_destroy(&device->lock);
    memset(device, 0, sizeof *device);
}

/* Room for the words of the slot's documents, and the task that fills them. */
static bm_status set_task(const bm_bench_device *device, bm_bench_slot *slot, bm_error *err)
{
    size_t n_docs = slot->batch.n_docs;
    if (n_docs * device->row_uints > slot->cap_words) {
        bm_free(slot->words);
        slot->cap_words = n_docs * device->row_uints * 5 / 4;
        slot->words = bm_alloc_aligned(slot->cap_words, sizeof *slot->words);
        if (slot->words == NULL) {
            size_t bytes = slot->cap_words * sizeof *slot->words;
            slot->cap_words = 0;
            return bm_fail_nomem(err, bytes);
        }
    }
    slot->task = (bm_sign_task){.offsets = slot->batch.offsets,
                                .hashes = slot->batch.hashes,
                                .n_docs = n_docs,
                                .words = slot->words};
    return BM_OK;
}

bm_status bm_bench_device_fill(bm_bench_device *device, size_t doc_hashes, bm_error *err)
{
    size_t n_docs = device->backend->batch_hashes / doc_hashes + 1, n = n_docs * doc_hashes;
    bm_random random;
    bm_random_init(&random, 1);
    uint32_t n_workers = device->backend->parallel ? device->n_workers : 1;
    for (uint32_t i = 0; i < n_workers * BM_BENCH_SLOTS; i++) {
        bm_bench_slot *slot = &device->workers[i / BM_BENCH_SLOTS].slots[i % BM_BENCH_SLOTS];
        bm_shingle_batch_clear(&slot->batch);
        BM_TRY(bm_shingle_batch_reserve(&slot->batch, n_docs, n, err));
        for (size_t h = 0; h < n; h++)
            slot->batch.hashes[h] = bm_random_u64(&random);
        for (size_t d = 0; d <= n_docs; d++)
            slot->batch.offsets[d] = d * doc_hashes;
        slot->batch.n_docs = n_docs;
        BM_TRY(set_task(device, slot, err));
    }
    return BM_OK;
}

bm_status bm_bench_device_set_text(bm_bench_device *device, const bm_bench_options *options,
                                   const bm_text_options *shingle, const bm_bench_text *text,
                                   bm_error *err)
{
    device->text = text;
    for (uint32_t w = 0; w < device->n_workers; w++) {
        bm_bench_worker *worker = &device->workers[w];
        bm_shingler *shingler = NULL;
        BM_TRY(bm_shingler_open(shingle, options->device.cpu, &shingler, err));
        bm_shingler_close(worker->shingler);
        worker->shingler = shingler;
        worker->next_doc = text->n * w / device->n_workers;
    }
    return BM_OK;
}

/* --- tasks under way --- */

/* With the lock held. */
static bm_status wait_oldest(bm_bench_device *device, bm_error *err)
{
    bm_bench_slot *slot = device->under_way[0];
    bm_status status = device->backend->ops->wait(device->backend, &slot->task, err);
    device->failed = device->failed || status != BM_OK;
    slot->under_way = false;
    device->n_under_way--;
    memmove(&device->under_way[0], &device->under_way[1],
            device->n_under_way * sizeof(bm_bench_slot *));
    return status;
}

static bm_status already_failed(const bm_bench_device *device, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_DEVICE, device->info->spec, 0, "the device failed");
}

static bm_status submit(bm_bench_device *device, bm_bench_slot *slot, bm_error *err)
{
    bm_backend *backend = device->backend;
    if (backend->parallel)
        return backend->ops->submit(backend, &slot->task, err);
    size_t depth = backend->depth < BM_BENCH_DEPTH_MAX ? backend->depth : BM_BENCH_DEPTH_MAX;
    bm_status status = BM_OK;
    pthread_mutex_lock(&device->lock);
    if (device->failed)
        BM_TRY_OUT(already_failed(device, err));
    while (device->n_under_way >= depth)
        BM_TRY_OUT(wait_oldest(device, err));
    status = backend->ops->submit(backend, &slot->task, err);
    device->failed = status != BM_OK;
    BM_TRY_OUT(status);
    slot->under_way = true;
    device->under_way[device->n_under_way++] = slot;
out:
    pthread_mutex_unlock(&device->lock);
    return status;
}

static bm_status wait_for(bm_bench_device *device, bm_bench_slot *slot, bm_error *err)
{
    if (device->backend->parallel)
        return BM_OK;
    bm_status status = BM_OK;
    pthread_mutex_lock(&device->lock);
    if (device->failed && slot->under_way)
        BM_TRY_OUT(already_failed(device, err));
    while (slot->under_way)
        BM_TRY_OUT(wait_oldest(device, err));
out:
    pthread_mutex_unlock(&device->lock);
    return status;
}

static bm_status finish_thread(void *ctx, uint32_t thread, bm_error *err)
{
    bm_bench_device *device = ctx;
    for (size_t s = 0; s < BM_BENCH_SLOTS; s++)
        BM_TRY(wait_for(device, &device->workers[thread].slots[s], err));
    return BM_OK;
}

static bm_bench_slot *next_slot(bm_bench_worker *worker)
{
    bm_bench_slot *slot = &worker->slots[worker->next_slot];
    worker->next_slot = (worker->next_slot + 1) % BM_BENCH_SLOTS;
    return slot;
}

/* --- the work --- */

static bm_status work_resident(void *ctx, uint32_t thread, bm_bench_done *done, bm_error *err)
{
    bm_bench_device *device = ctx;
    bm_bench_slot *slot = next_slot(&device->workers[thread]);
    bm_status status = BM_OK;
    BM_TRY_OUT(wait_for(device, slot, err));
    status = submit(device, slot, err);
out:
    done->shingles += (double)bm_shingle_batch_hashes(&slot->batch);
    return status;
}

static bm_status work_kernel(void *ctx, uint32_t thread, bm_bench_done *done, bm_error *err)
{
    bm_bench_device *device = ctx;
    bm_bench_slot *slot = next_slot(&device->workers[thread]);
    double before = device->backend->kernel_seconds;
    bm_status status = BM_OK;
    BM_TRY_OUT(submit(device, slot, err));
    status = wait_for(device, slot, err);
out:
    done->seconds += device->backend->kernel_seconds - before;
    done->shingles += (double)bm_shingle_batch_hashes(&slot->batch);
    return status;
}

static bm_status work_text(void *ctx, uint32_t thread, bm_bench_done *done, bm_error *err)
{
    bm_bench_device *device = ctx;
    bm_bench_worker *worker = &device->workers[thread];
    bm_bench_slot *slot = next_slot(worker);
    size_t full = device->backend->batch_hashes, most = DEVICE_TEXT_HASHES;
    if (device->backend->parallel)
        most = NATIVE_TEXT_HASHES;
    full = full < most ? full : most;
    bm_status status = wait_for(device, slot, err);
    bm_shingle_batch_clear(&slot->batch);
    double bytes = 0;
    BM_TRY_OUT(status);
    for (size_t docs = 0; docs < device->text->n; docs++) {
        if (bm_shingle_batch_hashes(&slot->batch) >= full)
            break;
        bm_str text = bm_bench_text_get(device->text, worker->next_doc);
        worker->next_doc = (worker->next_doc + 1) % device->text->n;
        bytes += (double)text.len;
        BM_TRY_OUT(bm_shingler_add(worker->shingler, text, &slot->batch, err));
    }
    BM_TRY_OUT(set_task(device, slot, err));
    status = submit(device, slot, err);
out:
    done->bytes += bytes;
    done->shingles += (double)bm_shingle_batch_hashes(&slot->batch);
    return status;
}

static bm_status work_limit(void *ctx, uint32_t thread, bm_bench_done *done, bm_error *err)
{
    (void)thread;
    (void)err;
    const bm_bench_limit *limit = ctx;
    alignas(BM_ALIGNMENT) uint32_t words[BM_PERMS_MAX];
    memset(words, 0xFF, sizeof words);
    limit->loops->arithmetic(&limit->params, LIMIT_ROUNDS, words);
    done->shingles += LIMIT_ROUNDS;
    return BM_OK;
}

const bm_bench_work bm_bench_work_resident = {.work = work_resident, .finish = finish_thread};
const bm_bench_work bm_bench_work_kernel = {.work = work_kernel, .finish = finish_thread};
const bm_bench_work bm_bench_work_text = {.work = work_text, .finish = finish_thread};
const bm_bench_work bm_bench_work_limit = {.work = work_limit};
