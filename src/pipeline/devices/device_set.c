/* device_set.c -- opening the chosen devices, checking what they say, giving up on those that lie. */
#include "pipeline/devices/device_set.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "text/unit_text.h"

#define CHECK_ONE_IN 1024u
#define CPU_BATCH_HASHES                                                                           \
    (96u * 1024u) /* 768 KiB of hashes: a batch stays in a core's second-level cache */

static void add_name(bm_device_set *device_set, const char *name)
{
    size_t used = strlen(device_set->names);
    snprintf(device_set->names + used, sizeof device_set->names - used, "%s%s",
             used == 0 ? "" : ", ", name);
}

/* The failure of a device that was asked for by name. Memory that OpenCL says is gone (the error
 * carries its code) is the device's affair, and one whose self-test fails cannot be used either:
 * BM_ERR_DEVICE. Our own want of memory stays what it is. The message names the device. */
static bm_status named_failure(const bm_device_info *device, bm_status status, bm_error *err)
{
    const bool ours = err == NULL || err->code == 0;
    if (status == BM_ERR_CANCELLED || status == BM_ERR_USAGE || status == BM_ERR_INTERNAL ||
        (status == BM_ERR_NOMEM && ours))
        return status;
    if (err == NULL)
        return BM_ERR_DEVICE;
    err->status = BM_ERR_DEVICE;
    if (err->file[0] == '\0' && strstr(err->message, device->spec) == NULL)
        snprintf(err->file, sizeof err->file, "%s", device->spec);
    return BM_ERR_DEVICE;
}

/* A device that does not open, or fails in the trial, is left out under `auto` (with a warning),
 * else an error. */
static bm_status open_device_worker(bm_device_set *device_set, bm_backend_cfg *cfg,
                                    const bm_device_info *device, bm_text_trial **trial,
                                    bm_error *err)
{
    bm_error why = {0};
    cfg->device = device->spec;
    bm_device_worker *device_worker = &device_set->device_workers[device_set->n_device_workers];
    bm_status status = bm_backend_opencl.open(cfg, &device_worker->backend, &why);
    if (status == BM_OK && *trial != NULL && device_worker->backend->takes_text) {
        status = bm_text_trial_run(*trial, device_worker->backend, &why);
        if (status != BM_OK) {
            bm_backend_opencl.drain(device_worker->backend, NULL);
            if (device_worker->backend->stuck)
                *trial = NULL; /* the device may use it for ever */
            bm_backend_opencl.close(device_worker->backend);
            device_worker->backend = NULL;
        }
    }
    if (status == BM_OK) {
        device_worker->info = device[0];
        device_set->n_device_workers++;
        add_name(device_set, device->name);
        return BM_OK;
    }
    if (device_set->fallback) {
        char words[1400];
        bm_error_format(&why, words, sizeof words);
        bm_meter_log(device_set->meter, BM_LOG_WARNING, "device %s left out: %s", device->spec,
                     words);
        return BM_OK;
    }
    status = named_failure(device, status, &why);
    if (err != NULL)
        *err = why;
    return status;
}

/* What the choice between texts and hashes comes to before anything is opened. */
static bm_text_offload_wish_kind wish_of(const bm_device_set_cfg *cfg)
{
    const bm_text_offload_wish_kind wish = bm_text_offload_wish();
    return wish == BM_TEXT_AUTO ? bm_text_offload_rule(cfg->pick->devices, cfg->pick->n) : wish;
}

/* Open the trial of both ways, where devices are opened for texts and nothing settles it. */
static bm_status open_trial(const bm_device_set *device_set, const bm_device_set_cfg *cfg,
                            bm_text_trial **out, bm_error *err)
{
    bm_text_trial_cfg trial = {.text = cfg->text,
                               .perms_used = device_set->perms_used,
                               .bands = device_set->bands,
                               .cpu = cfg->cpu};
    bool any = false;
    for (size_t i = 0; i < cfg->pick->n; i++)
        any |= cfg->pick->devices[i].kind != BM_DEVICE_NATIVE;
    if (!any || cfg->text == NULL || !bm_text_batch_able(cfg->text) ||
        wish_of(cfg) != BM_TEXT_TRIAL)
        return BM_OK;
    return bm_text_trial_open(&trial, out, err);
}

/* Choose between texts and hashes, and open what texts need on the host. */
static bm_status choose_path(bm_device_set *device_set, const bm_device_set_cfg *cfg,
                             const bm_text_trial *trial, bm_error *err)
{
    bm_text_offload *path = &device_set->path;
    path->own_processors = device_set->n_device_workers > 0 && cfg->text != NULL &&
                           bm_text_batch_able(cfg->text) &&
                           bm_text_offload_wish() == BM_TEXT_AUTO && wish_of(cfg) == BM_TEXT_OFF;
    if (path->own_processors)
        bm_meter_log(device_set->meter, BM_LOG_DEBUG,
                     "hashes go to the device: it is made of the host's own processors");
    path->able = device_set->n_device_workers > 0;
    for (size_t i = 0; i < device_set->n_device_workers; i++)
        path->able = path->able && device_set->device_workers[i].backend->takes_text;
    if (!path->able)
        return BM_OK;
    path->taken = bm_text_offload_wish() == BM_TEXT_ON;
    if (trial != NULL)
        bm_text_trial_judge(trial, cfg->threads > 0 ? cfg->threads : 1, path);
    if (path->measured)
        bm_meter_log(device_set->meter, BM_LOG_DEBUG,
                     "%s go to the device: a trial gave %.0f MB/s of text, and %.0f with hashes "
                     "made here",
                     path->taken ? "texts" : "hashes", path->text_rate * 1e-6,
                     path->hash_rate * 1e-6);
    else if (path->taken)
        bm_meter_log(device_set->meter, BM_LOG_DEBUG, "texts go to the device: BANDMILL_CL_TEXT");
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && path->taken && i < device_set->n_device_workers; i++)
        status =
            bm_shingler_open(cfg->text, cfg->cpu, &device_set->device_workers[i].shingler, err);
    return status;
}

/* Every device of the pick: device_workers, and the native CPU. */
static bm_status open_devices(bm_device_set *device_set, const bm_device_set_cfg *cfg,
                              bm_backend_cfg *backend, bm_error *err)
{
    bm_text_trial *trial = NULL;
    bm_status status = open_trial(device_set, cfg, &trial, err);
    for (size_t i = 0; status == BM_OK && i < cfg->pick->n; i++) {
        const bm_device_info *device = &cfg->pick->devices[i];
        if (device->kind == BM_DEVICE_NATIVE) {
            device_set->use_cpu = true;
            add_name(device_set, device->name);
        } else {
            status = open_device_worker(device_set, backend, device, &trial, err);
        }
    }
    if (status == BM_OK && device_set->n_device_workers == 0 && !device_set->use_cpu) {
        device_set->use_cpu = true;
        add_name(device_set, device_set->cpu->info.name);
        bm_meter_log(device_set->meter, BM_LOG_WARNING, "no device is left, signing on the CPU");
    }
    if (status == BM_OK)
        status = choose_path(device_set, cfg, trial, err);
    bm_text_trial_close(trial);
    return status;
}

bm_status bm_device_set_open(const bm_device_set_cfg *cfg, bm_device_set *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->meter = cfg->meter;
    out->fallback = cfg->pick->fallback;
    out->bands = cfg->bands;
    out->rows = cfg->rows;
    out->perms_used = cfg->perms_used != 0 ? cfg->perms_used : cfg->sketch.perms;
    bm_callbacks callbacks = bm_meter_callbacks(cfg->meter);
    bm_backend_cfg backend = {.sketch = cfg->sketch,
                              .perms_used = out->perms_used,
                              .bands = cfg->bands,
                              .rows = cfg->rows,
                              .text = wish_of(cfg) == BM_TEXT_OFF ? NULL : cfg->text,
                              .device = "cpu",
                              .cpu = cfg->cpu,
                              .cache_dir = cfg->cache_dir,
                              .callbacks = &callbacks};
    out->device_workers = bm_alloc_zero(cfg->pick->n, sizeof *out->device_workers);
    if (out->device_workers == NULL)
        return bm_fail_nomem(err, cfg->pick->n * sizeof *out->device_workers);
    bm_status status = bm_scheme_draw(&cfg->sketch, &out->params, err);
    if (status == BM_OK)
        status = bm_backend_cpu.open(&backend, &out->cpu, err);
    out->params.perms = out->perms_used;
    if (status == BM_OK)
        status = open_devices(out, cfg, &backend, err);
    if (status != BM_OK)
        bm_device_set_close(out);
    return status;
}

void bm_device_set_close(bm_device_set *device_set)
{
    for (size_t i = 0; i < device_set->n_device_workers; i++) {
        bm_backend_opencl.close(device_set->device_workers[i].backend);
        bm_shingler_close(device_set->device_workers[i].shingler);
        bm_shingle_batch_reset(&device_set->device_workers[i].checked);
    }
    bm_backend_cpu.close(device_set->cpu);
    bm_free(device_set->device_workers);
    bm_scheme_params_reset(&device_set->params);
    memset(device_set, 0, sizeof *device_set);
}

size_t bm_device_set_batch_hashes(const bm_device_set *device_set)
{
    size_t hashes = CPU_BATCH_HASHES;
    for (size_t i = 0; i < device_set->n_device_workers; i++)
        if (device_set->device_workers[i].backend != NULL &&
            device_set->device_workers[i].backend->batch_hashes > hashes)
            hashes = device_set->device_workers[i].backend->batch_hashes;
    return hashes;
}

bm_status bm_device_set_sign_cpu(bm_device_set *device_set, bm_sign_task *task, bm_error *err)
{
    bm_status status = bm_backend_cpu.submit(device_set->cpu, task, err);
    return status == BM_OK ? bm_backend_cpu.wait(device_set->cpu, task, err) : status;
}

/* The hashes of document d, made again where the device had its text. */
static bm_status hashes_of(bm_device_worker *device_worker, const bm_sign_task *task, size_t d,
                           const uint64_t **hashes, size_t *n, bm_error *err)
{
    if (task->text == NULL) {
        *hashes = task->hashes + task->offsets[d];
        *n = (size_t)(task->offsets[d + 1] - task->offsets[d]);
        return BM_OK;
    }
    bm_shingle_batch_clear(&device_worker->checked);
    bm_status status =
        bm_unit_text_hash(device_worker->shingler, task->text, d, &device_worker->checked, err);
    *hashes = device_worker->checked.hashes;
    *n = bm_shingle_batch_hashes(&device_worker->checked);
    return status;
}

bm_status bm_device_set_check(const bm_device_set *device_set, bm_device_worker *device_worker,
                              const bm_sign_task *task, bm_error *err)
{
    uint32_t words[BM_PERMS_MAX];
    uint64_t keys[BM_PERMS_MAX];
    for (size_t d = task->n_docs > CHECK_ONE_IN ? CHECK_ONE_IN / 2 : task->n_docs / 2;
         d < task->n_docs; d += CHECK_ONE_IN) {
        const uint64_t *hashes = NULL;
        size_t n = 0;
        while (task->text != NULL && task->text->docs[d].by_host && d + 1 < task->n_docs)
            d++;
        if (task->text != NULL && task->text->docs[d].by_host)
            break;
        bm_status status = hashes_of(device_worker, task, d, &hashes, &n, err);
        if (status != BM_OK)
            return status;
        device_set->params.ops->sign(&device_set->params, hashes, n, words);
        bm_band_keys_scalar(words, device_set->bands, device_set->rows, n == 0, keys);
        bool same = task->words == NULL || memcmp(words, task->words + d * device_set->perms_used,
                                                  device_set->perms_used * sizeof *words) == 0;
        same = same && (task->keys == NULL || memcmp(keys, task->keys + d * device_set->bands,
                                                     device_set->bands * sizeof *keys) == 0);
        same = same && (task->text == NULL || task->n_shingles[d] == n);
        if (!same)
            return bm_fail_at(err, BM_ERR_DEVICE, device_worker->info.spec, 0,
                              "%s computed a wrong signature", device_worker->info.name);
    }
    return BM_OK;
}

bm_status bm_device_set_worker_failed(bm_device_set *device_set, bm_device_worker *device_worker,
                                      bm_status status, bm_error *err)
{
    device_worker->dead = true;
    if (!device_set->fallback)
        return named_failure(&device_worker->info, status, err);
    char words[1400] = "it failed";
    if (err != NULL)
        bm_error_format(err, words, sizeof words);
    bm_meter_log(device_set->meter, BM_LOG_WARNING,
                 "device %s is given up, its batches are signed on the CPU: %s",
                 device_worker->info.spec, words);
    return BM_OK;
}
