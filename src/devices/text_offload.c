/* SPDX-License-Identifier: Apache-2.0 */
/* text_offload.c -- the trial of both ways.
 *
 * The text is made by a fixed generator: words of 1 to 10 letters, a megabyte in documents of
 * 2 KiB. The host makes it twice and the second counts, since the first allocates; a device gets
 * each form once more than it has slots, and the last counts, for which a slot is used again.
 *
 * Tests: tests/unit/devices/test_text_offload.c */
#include "devices/text_offload.h"

#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "text/unit_text.h"

#define DOC_BYTES  2048u
#define TRIAL_DOCS 512u
#define TRIES      2

bm_offload bm_text_offload_rule(const bm_device_info *devices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (devices[i].kind != BM_DEVICE_NATIVE && devices[i].kind != BM_DEVICE_CL_CPU)
            return BM_OFFLOAD_TRIAL;
    return BM_OFFLOAD_OFF;
}

struct bm_text_trial {
    bm_shingler *shingler;
    char *bytes;
    size_t n_docs;
    uint32_t bands;
    bm_text_batch text;
    bm_shingle_batch hashes;
    uint32_t *words, *counts;
    bm_hash128 *content;
    uint64_t *keys;
    bm_sign_task task;                 /* a device that failed may hold it until it is closed */
    double join_seconds, hash_seconds; /* of one thread of the host */
    double text_cpu, hash_cpu;         /* the host beside the devices, of all of them */
    double text_rate, hash_rate;       /* of all devices together */
    uint32_t n_devices;
    bool same_processors; /* one of them is made of the host's */
};

static void fill_words(char *out, size_t len)
{
    uint64_t state = 7;
    size_t left = 0;
    for (size_t i = 0; i < len; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (left == 0) {
            out[i] = ' ';
            left = 1 + (state >> 60) % 10;
        } else {
            out[i] = (char)('a' + (state >> 33) % 26);
            left--;
        }
    }
}

/* Both batches, and how long the host took for each. */
static bm_status make_batches(bm_text_trial *t, bm_error *err)
{
    bm_status status = BM_OK;
    for (int tries = 0; tries < TRIES; tries++) {
        double mark = bm_clock_seconds();
        bm_text_batch_clear(&t->text);
        for (size_t i = 0; i < t->n_docs && status == BM_OK; i++)
            status = bm_unit_text_add(t->shingler, (bm_str){t->bytes + i * DOC_BYTES, DOC_BYTES},
                                      &t->text, err);
        t->join_seconds = bm_clock_seconds() - mark;
        mark = bm_clock_seconds();
        bm_shingle_batch_clear(&t->hashes);
        for (size_t i = 0; i < t->n_docs && status == BM_OK; i++)
            status = bm_shingler_add(t->shingler, (bm_str){t->bytes + i * DOC_BYTES, DOC_BYTES},
                                     &t->hashes, err);
        t->hash_seconds = bm_clock_seconds() - mark;
    }
    return status;
}

bm_status bm_text_trial_open(const bm_text_trial_cfg *cfg, bm_text_trial **out, bm_error *err)
{
    bm_text_trial *t = NULL;
    BM_TRY(bm_new_zero(&t, 1, err));
    t->n_docs = TRIAL_DOCS;
    t->bands = cfg->bands;
    t->text.options = *cfg->text;
    t->bytes = bm_alloc(t->n_docs, DOC_BYTES);
    t->words = bm_alloc(t->n_docs * cfg->row_uints, sizeof *t->words);
    t->keys = bm_alloc(t->n_docs * cfg->bands, sizeof *t->keys);
    t->counts = bm_alloc(t->n_docs, sizeof *t->counts);
    t->content = bm_alloc(t->n_docs, sizeof *t->content);
    bm_status status = BM_OK;
    if (t->bytes == NULL || t->words == NULL || t->keys == NULL || t->counts == NULL ||
        t->content == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, t->n_docs * DOC_BYTES));
    fill_words(t->bytes, t->n_docs * DOC_BYTES);
    BM_TRY_OUT(bm_shingler_open(cfg->text, cfg->cpu, &t->shingler, err));
    status = make_batches(t, err);
out:
    if (status != BM_OK) {
        bm_text_trial_close(t);
        return status;
    }
    *out = t;
    return BM_OK;
}

void bm_text_trial_close(bm_text_trial *trial)
{
    if (trial == NULL)
        return;
    bm_shingler_close(trial->shingler);
    bm_text_batch_reset(&trial->text);
    bm_shingle_batch_reset(&trial->hashes);
    bm_free_all(trial->bytes, trial->words, trial->keys, trial->counts, trial->content, trial);
}

/* Bytes a second of a device for the task, and what it cost the host. */
static bm_status time_task(bm_text_trial *trial, bm_backend *backend, double *rate, double *cpu,
                           bm_error *err)
{
    bm_sign_task *task = &trial->task;
    double seconds = 0, spent = 0;
    for (uint32_t tries = 0; tries <= (backend->depth > 0 ? backend->depth : 1); tries++) {
        const double mark = bm_clock_seconds();
        /* of all threads of the process, the driver's own included */
        const double cpu_mark = bm_clock_of(CLOCK_PROCESS_CPUTIME_ID);
        BM_TRY(backend->ops->submit(backend, task, err));
        BM_TRY(backend->ops->wait(backend, task, err));
        seconds = bm_clock_seconds() - mark;
        spent = bm_clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_mark;
    }
    *rate = (double)(trial->n_docs * DOC_BYTES) / (seconds > 0 ? seconds : 1e-9);
    *cpu += spent;
    return BM_OK;
}

bm_status bm_text_trial_run(bm_text_trial *trial, bm_backend *backend, bm_error *err)
{
    double hash_rate = 0, text_rate = 0;
    trial->n_devices++;
    trial->task = (bm_sign_task){.offsets = trial->hashes.offsets,
                                 .hashes = trial->hashes.hashes,
                                 .n_docs = trial->n_docs,
                                 .words = trial->words,
                                 .keys = trial->bands > 0 ? trial->keys : NULL};
    BM_TRY(time_task(trial, backend, &hash_rate, &trial->hash_cpu, err));
    trial->task.offsets = trial->text.slots;
    trial->task.hashes = NULL;
    trial->task.text = &trial->text;
    trial->task.n_shingles = trial->counts;
    trial->task.content = trial->content;
    bm_status status = time_task(trial, backend, &text_rate, &trial->text_cpu, err);
    trial->hash_rate += hash_rate;
    trial->text_rate += text_rate; /* a device that takes no such text: 0, hashes win */
    trial->same_processors |= backend->info.kind == BM_DEVICE_CL_CPU;
    return status == BM_ERR_UNSUPPORTED ? BM_OK : status;
}

double bm_text_way_rate(double host_rate, double device_rate, bool same_processors)
{
    if (host_rate <= 0 || device_rate <= 0)
        return 0;
    if (same_processors)
        return 1 / (1 / host_rate + 1 / device_rate);
    return host_rate < device_rate ? host_rate : device_rate;
}

/* Bytes a second of all threads. `seconds` may be 0 where the clock is coarse. */
static double host_rate(const bm_text_trial *trial, double seconds, uint32_t threads)
{
    return (double)(trial->n_docs * DOC_BYTES) * threads / (seconds > 0 ? seconds : 1e-9);
}

void bm_text_trial_judge(const bm_text_trial *trial, uint32_t threads, bm_text_offload *offload)
{
    const bool same = trial->same_processors;
    const double share =
        same ? 0 : 1.0 / trial->n_devices; /* else the device's work is counted twice */
    offload->host_text_rate =
        host_rate(trial, trial->join_seconds + trial->text_cpu * share, threads);
    offload->host_hash_rate =
        host_rate(trial, trial->hash_seconds + trial->hash_cpu * share, threads);
    offload->device_text_rate = trial->text_rate;
    offload->device_hash_rate = trial->hash_rate;
    offload->text_rate = bm_text_way_rate(offload->host_text_rate, offload->device_text_rate, same);
    offload->hash_rate = bm_text_way_rate(offload->host_hash_rate, offload->device_hash_rate, same);
    offload->taken = offload->text_rate > offload->hash_rate;
    offload->measured = true;
}
