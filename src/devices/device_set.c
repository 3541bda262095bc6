/* device_set.c -- opening the chosen devices, checking what they say, giving up on those that lie.
 *
 * Tests: tests/fault/device/calls.sh, tests/fault/device/answers.sh, tests/cli/cases/devices.sh
 * Tests: tests/cli/cases/devices_together.sh, tests/identity/test_outputs.py */
#include "devices/device_set.h"

#include <bandmill/words.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "model/scheme_facts.h"
#include "cpu/cpu_backend.h"
#include "opencl/known_answers.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "devices/device_open.h"
#include "text/unit_text.h"

#define CHECK_ONE_IN 1024u
/* 768 KiB of hashes: a batch stays in a core's second-level cache. */
#define CPU_BATCH_HASHES (96u * 1024u)

static void add_name(bm_device_set *set, const char *name)
{
    size_t used = strlen(set->names);
    snprintf(set->names + used, sizeof set->names - used, "%s%s", used == 0 ? "" : ", ", name);
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

/* A device that is opened, by a thread of its own where there are others. */
typedef struct opening {
    const bm_backend_cfg *cfg;
    const bm_device_info *device;
    pthread_t thread;
    bool started;
    bm_status status;
    bm_error error;
    bm_backend *backend; /* NULL: it did not open, or has gone to a worker */
} opening;

static void *open_one(void *ctx)
{
    opening *o = ctx;
    o->status = bm_device_open(o->device, o->cfg, &o->backend, &o->error);
    return NULL;
}

/* Open all of them at once: a driver that takes its time to start, in the trial run and here, takes it once. */
static void open_all(opening *openings, size_t n)
{
    for (size_t i = 1; i < n; i++)
        openings[i].started = bm_thread_start(&openings[i].thread, open_one, &openings[i]) == 0;
    for (size_t i = 0; i < n; i++)
        if (!openings[i].started)
            open_one(&openings[i]);
    for (size_t i = 1; i < n; i++)
        if (openings[i].started)
            pthread_join(openings[i].thread, NULL);
}

/* Try a device that was opened; a trial that it may go on using for ever is given up. */
static bm_status try_opened(opening *opened, bm_text_trial **trial, bm_backend **out, bm_error *err)
{
    bm_backend *backend = opened->backend;
    bm_status status = opened->status;
    opened->backend = NULL;
    if (status != BM_OK) {
        *err = opened->error;
        return status;
    }
    if (*trial != NULL && backend->takes_text)
        BM_TRY_OUT(bm_text_trial_run(*trial, backend, err));
    *out = backend;
    return BM_OK;
out:
    backend->ops->drain(backend, NULL);
    if (backend->stuck)
        *trial = NULL;
    bm_backend_close(backend);
    return status;
}

/* A device that does not open, or fails in the trial, is left out under `auto` (with a warning),
 * else an error. */
static bm_status add_worker(bm_device_set *set, opening *opened, bm_text_trial **trial,
                            bm_error *err)
{
    const bm_device_info *device = opened->device;
    bm_error why = {0};
    bm_device_worker *worker = &set->device_workers[set->n_device_workers];
    bm_status status = BM_OK;
    BM_TRY_OUT(try_opened(opened, trial, &worker->backend, &why));
    worker->info = device[0];
    set->n_device_workers++;
    add_name(set, device->name);
    return BM_OK;
out:
    if (set->fallback) {
        char words[1400];
        bm_error_format(&why, words, sizeof words);
        bm_meter_log(set->meter, BM_LOG_WARNING, "device %s left out: %s", device->spec, words);
        return BM_OK;
    }
    status = named_failure(device, status, &why);
    if (err != NULL)
        *err = why;
    return status;
}

static bm_offload asked_of(const bm_device_set_cfg *cfg)
{
    return cfg->settings != NULL ? cfg->settings->text_offload : BM_OFFLOAD_AUTO;
}

/* What the choice between texts and hashes comes to before anything is opened. */
static bm_offload wish_of(const bm_device_set_cfg *cfg)
{
    const bm_offload wish = asked_of(cfg);
    if (cfg->text != NULL && cfg->text->hash != BM_TOKEN_XXH3)
        return BM_OFFLOAD_OFF; /* kernels hash texts by XXH3 alone */
    return wish == BM_OFFLOAD_AUTO ? bm_text_offload_rule(cfg->pick->devices, cfg->pick->n) : wish;
}

/* Are there texts that a device could cut? */
static bool has_able_text(const bm_device_set_cfg *cfg)
{
    return cfg->text != NULL && bm_text_batch_able(cfg->text);
}

/* Do devices sign by the scheme? Else all is done by the native CPU, whatever was asked for. */
static bool has_kernels(const bm_device_set *set)
{
    return set->params.ops->device.sign_cpu != NULL;
}

/* Open the trial of both ways, where devices are opened for texts and nothing settles it. */
static bm_status open_trial(const bm_device_set *set, const bm_device_set_cfg *cfg,
                            bm_text_trial **out, bm_error *err)
{
    bm_text_trial_cfg trial = {
        .text = cfg->text, .row_uints = set->row_uints, .bands = set->bands, .cpu = cfg->cpu};
    bool any = false;
    for (size_t i = 0; i < cfg->pick->n; i++)
        any |= cfg->pick->devices[i].kind != BM_DEVICE_NATIVE && has_kernels(set);
    if (!any || !has_able_text(cfg) || wish_of(cfg) != BM_OFFLOAD_TRIAL)
        return BM_OK;
    return bm_text_trial_open(&trial, out, err);
}

/* Choose between texts and hashes, and open what texts need on the host. */
static bm_status choose_offload(bm_device_set *set, const bm_device_set_cfg *cfg,
                                const bm_text_trial *trial, bm_error *err)
{
    bm_text_offload *offload = &set->path;
    offload->own_processors = set->n_device_workers > 0 && has_able_text(cfg) &&
                              asked_of(cfg) == BM_OFFLOAD_AUTO && wish_of(cfg) == BM_OFFLOAD_OFF;
    if (offload->own_processors)
        bm_meter_log(set->meter, BM_LOG_DEBUG,
                     "hashes go to the device: it is made of the host's own processors");
    offload->able = set->n_device_workers > 0;
    for (size_t i = 0; i < set->n_device_workers; i++)
        offload->able = offload->able && set->device_workers[i].backend->takes_text;
    if (!offload->able)
        return BM_OK;
    offload->taken = asked_of(cfg) == BM_OFFLOAD_ON;
    if (trial != NULL)
        bm_text_trial_judge(trial, cfg->threads > 0 ? cfg->threads : 1, offload);
    if (offload->measured)
        bm_meter_log(set->meter, BM_LOG_DEBUG,
                     "%s go to the device: a trial gave %.0f MB/s of text, and %.0f with hashes "
                     "made here",
                     offload->taken ? "texts" : "hashes", offload->text_rate * 1e-6,
                     offload->hash_rate * 1e-6);
    else if (offload->taken)
        bm_meter_log(set->meter, BM_LOG_DEBUG, "texts go to the device: BANDMILL_CL_TEXT");
    for (size_t i = 0; offload->taken && i < set->n_device_workers; i++)
        BM_TRY(bm_shingler_open(cfg->text, cfg->cpu, &set->device_workers[i].shingler, err));
    return BM_OK;
}

/* Every device of the pick: workers, and the native CPU. */
static bm_status open_devices(bm_device_set *set, const bm_device_set_cfg *cfg,
                              bm_backend_cfg *backend, bm_error *err)
{
    bm_text_trial *trial = NULL;
    opening *openings = NULL;
    size_t n = 0, at = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&openings, cfg->pick->n, err));
    BM_TRY_OUT(open_trial(set, cfg, &trial, err));
    for (size_t i = 0; i < cfg->pick->n && has_kernels(set); i++)
        if (cfg->pick->devices[i].kind != BM_DEVICE_NATIVE)
            openings[n++] = (opening){.cfg = backend, .device = &cfg->pick->devices[i]};
    open_all(openings, n);
    for (size_t i = 0; i < cfg->pick->n; i++) {
        const bm_device_info *device = &cfg->pick->devices[i];
        if (device->kind == BM_DEVICE_NATIVE) {
            set->use_cpu = true;
            add_name(set, device->name);
        } else if (has_kernels(set))
            BM_TRY_OUT(add_worker(set, &openings[at++], &trial, err));
    }
    if (set->n_device_workers == 0 && !set->use_cpu) {
        set->use_cpu = true;
        add_name(set, set->cpu->info.name);
        if (has_kernels(set))
            bm_meter_log(set->meter, BM_LOG_WARNING, "no device is left, signing on the CPU");
        else
            bm_meter_log(set->meter, BM_LOG_INFO, "scheme %s is signed on the CPU",
                         bm_option_word(BM_OPTION_SCHEME, set->params.ops->scheme));
    }
    status = choose_offload(set, cfg, trial, err);
out:
    for (; at < n; at++) /* behind one that is an error */
        bm_backend_close(openings[at].backend);
    bm_free(openings);
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
    out->row_uints = bm_scheme_row_uints(cfg->sketch.scheme, out->perms_used);
    bm_callbacks callbacks = bm_meter_callbacks(cfg->meter);
    bm_backend_cfg backend = {
        .sketch = cfg->sketch,
        .perms_used = out->perms_used,
        .bands = cfg->bands,
        .rows = cfg->rows,
        .text = wish_of(cfg) == BM_OFFLOAD_OFF || !has_able_text(cfg) ? NULL : cfg->text,
        .device = "cpu",
        .settings = cfg->settings,
        .cpu = cfg->cpu,
        .cache_dir = cfg->cache_dir,
        .kept_bytes = cfg->kept_bytes,
        .callbacks = &callbacks};
    BM_TRY(bm_new_zero(&out->device_workers, cfg->pick->n, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_scheme_draw(&cfg->sketch, &out->params, err));
    BM_TRY_OUT(bm_backend_cpu.open(&backend, &out->cpu, err));
    out->params.perms = out->perms_used;
    status = open_devices(out, cfg, &backend, err);
out:
    if (status != BM_OK)
        bm_device_set_close(out);
    return status;
}

void bm_device_set_close(bm_device_set *set)
{
    for (size_t i = 0; i < set->n_device_workers; i++) {
        bm_device_worker *worker = &set->device_workers[i];
        bm_backend_close(worker->backend);
        bm_shingler_close(worker->shingler);
        bm_shingle_batch_reset(&worker->checked);
    }
    bm_backend_close(set->cpu);
    bm_free(set->device_workers);
    bm_scheme_params_reset(&set->params);
    memset(set, 0, sizeof *set);
}

size_t bm_device_set_batch_hashes(const bm_device_set *set)
{
    size_t hashes = CPU_BATCH_HASHES;
    for (size_t i = 0; i < set->n_device_workers; i++) {
        const bm_backend *backend = set->device_workers[i].backend;
        if (backend != NULL && backend->batch_hashes > hashes)
            hashes = backend->batch_hashes;
    }
    return hashes;
}

bm_status bm_device_set_sign_cpu(bm_device_set *set, bm_sign_task *task, bm_error *err)
{
    const bm_backend_ops *ops = set->cpu->ops;
    BM_TRY(ops->submit(set->cpu, task, err));
    return ops->wait(set->cpu, task, err);
}

/* The hashes of one document. */
typedef struct doc_hashes {
    const uint64_t *hashes;
    size_t n;
    bm_hash128 content; /* of a text */
} doc_hashes;

/* Those of document d, made again where the device had its text. */
static bm_status hashes_of(bm_device_worker *worker, const bm_sign_task *task, size_t d,
                           doc_hashes *out, bm_error *err)
{
    if (task->text == NULL) {
        out->hashes = task->hashes + task->offsets[d];
        out->n = (size_t)(task->offsets[d + 1] - task->offsets[d]);
        return BM_OK;
    }
    bm_shingle_batch *made = &worker->checked;
    bm_shingle_batch_clear(made);
    BM_TRY(bm_unit_text_hash(worker->shingler, task->text, d, made, err));
    *out = (doc_hashes){made->hashes, bm_shingle_batch_hashes(made), made->content[0]};
    return BM_OK;
}

/* Do words, keys, count and content hash of document d equal those of the reference? */
static bool is_right(const bm_device_set *set, const bm_sign_task *task, size_t d, doc_hashes doc)
{
    uint32_t words[2 * BM_PERMS_MAX];
    uint64_t keys[BM_PERMS_MAX];
    const size_t row = set->row_uints, bands = set->bands;
    set->params.ops->sign(&set->params, doc.hashes, doc.n, words);
    bm_band_keys_of(bm_scheme_word_bytes(set->params.ops->scheme))(words, set->bands, set->rows,
                                                                   doc.n == 0, keys);
    if (task->words != NULL && memcmp(words, task->words + d * row, row * sizeof *words) != 0)
        return false;
    if (task->keys != NULL && memcmp(keys, task->keys + d * bands, bands * sizeof *keys) != 0)
        return false;
    if (task->text != NULL && task->content != NULL &&
        memcmp(&doc.content, &task->content[d], sizeof doc.content) != 0)
        return false;
    return task->text == NULL || task->n_shingles[d] == doc.n;
}

bm_status bm_device_set_check(const bm_device_set *set, bm_device_worker *worker,
                              const bm_sign_task *task, bm_error *err)
{
    for (size_t d = task->n_docs > CHECK_ONE_IN ? CHECK_ONE_IN / 2 : task->n_docs / 2;
         bm_devices_are_checked && d < task->n_docs; d += CHECK_ONE_IN) {
        doc_hashes doc = {0};
        while (task->text != NULL && task->text->docs[d].by_host && d + 1 < task->n_docs)
            d++;
        if (task->text != NULL && task->text->docs[d].by_host)
            break;
        BM_TRY(hashes_of(worker, task, d, &doc, err));
        if (!is_right(set, task, d, doc))
            return bm_fail_at(err, BM_ERR_DEVICE, worker->info.spec, 0,
                              "%s computed a wrong signature", worker->info.name);
    }
    return BM_OK;
}

bm_status bm_device_set_worker_failed(bm_device_set *set, bm_device_worker *worker,
                                      bm_status status, bm_error *err)
{
    worker->dead = true;
    if (!set->fallback)
        return named_failure(&worker->info, status, err);
    char words[1400] = "it failed";
    if (err != NULL)
        bm_error_format(err, words, sizeof words);
    bm_meter_log(set->meter, BM_LOG_WARNING,
                 "device %s is given up, its batches are signed on the CPU: %s", worker->info.spec,
                 words);
    return BM_OK;
}
