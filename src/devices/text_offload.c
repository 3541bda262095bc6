/* SPDX-License-Identifier: Apache-2.0 */
/* text_offload.c -- measures the CPU, and devices that receive texts or hashes.
 *
 * A fixed generator makes the text: a megabyte of words of 1 to 10 letters, in documents of 2 KiB.
 *
 * The CPU: each thread of the host repeatedly makes texts, hashes and signatures of some of the
 * documents. The first round does not count, since it allocates memory. Processor time is measured,
 * so that interruptions do not make the loops look slow.
 *
 * A device: first it receives a small batch, then larger batches, until a batch takes some
 * milliseconds. Then batches of this size are staged once, and submitted again and again, with as
 * many in flight as the backend's depth. This is timed twice, and the faster time counts. If a
 * device takes long for the small batch, at a rate far below the CPU's, it is not tried further.
 *
 * Tests: tests/unit/devices/test_text_offload.c */
#include "devices/text_offload.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "text/unit_text.h"

#define DOC_BYTES     2048u
#define TRIAL_DOCS    512u
#define LANE_DOCS     16u   /* documents in one round of a thread; few enough for a core's caches */
#define LANE_SECONDS  0.002 /* least processor time of a thread's measurement */
#define LANE_ROUNDS   64u
#define FIRST_DOCS    8u    /* documents in a device's first batch */
#define FOLD_MOST     8u    /* most growth from one batch to the next, as a factor */
#define BATCH_SECONDS 0.004 /* desired time of a batch */
/* A device is slow if its first batch takes longer than SLOW_SECONDS, and its rate is less than
 * 1/SLOW_PART of the CPU's. */
#define SLOW_SECONDS 0.005
#define SLOW_PART    20
#define DEPTH_MAX    4u
#define STRETCHES    2u

static const bm_text_options given_hashes = {.shingle = BM_SHINGLE_CHAR, .shingle_k = 5};

bm_offload bm_text_offload_rule(const bm_device_info *devices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (devices[i].kind != BM_DEVICE_NATIVE && devices[i].kind != BM_DEVICE_CL_CPU)
            return BM_OFFLOAD_TRIAL;
    return BM_OFFLOAD_OFF;
}

/* Processor seconds: to make texts (join), to make hashes, to sign. */
typedef struct parts {
    double join, hash, sign;
} parts;

/* The data of one thread of the host. */
typedef struct lane {
    bm_shingler *shingler;
    bm_text_batch text;
    bm_shingle_batch hashes;
    uint32_t *words;
    uint64_t *keys;
    parts spent; /* time spent in all `rounds` */
    uint32_t rounds;
} lane;

/* The times of one device with one form, texts or hashes. */
typedef struct form_time {
    double rate;   /* rate of the device, in bytes of text per second */
    double beside; /* processor seconds of the host, for staging the whole text and for the
                      driver */
    parts host;    /* processor seconds of the host's own work */
} form_time;

typedef struct device_time {
    form_time text, hashes;
} device_time;

struct bm_text_trial {
    bm_text_trial_cfg cfg;
    bm_text_options options;
    char *bytes;
    bool made; /* `text` and `hashes` are filled */
    bm_text_batch text;
    bm_shingle_batch hashes;
    /* Devices write their results here. A device that has failed may write until it is closed. */
    uint32_t *words, *counts;
    bm_hash128 *content;
    uint64_t *keys;
    bm_sign_task tasks[DEPTH_MAX];
    lane *lanes;
    atomic_bool stop; /* stops the threads that work while a device is timed */
    parts alone;      /* the host's work while no device works */
    device_time *devices;
    size_t n_devices, cap_devices;
    bool same_processors; /* some device is made of the host's processors */
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

static bm_str doc_of(const bm_text_trial *t, size_t i)
{
    return (bm_str){t->bytes + i % TRIAL_DOCS * DOC_BYTES, DOC_BYTES};
}

static bm_status make_texts(const bm_text_trial *t, bm_shingler *shingler, size_t first, size_t n,
                            bm_text_batch *out, bm_error *err)
{
    bm_text_batch_clear(out);
    for (size_t i = 0; i < n; i++)
        BM_TRY(bm_unit_text_add(shingler, doc_of(t, first + i), out, err));
    return BM_OK;
}

static bm_status make_hashes(const bm_text_trial *t, bm_shingler *shingler, size_t first, size_t n,
                             bm_shingle_batch *out, bm_error *err)
{
    bm_shingle_batch_clear(out);
    for (size_t i = 0; i < n; i++)
        BM_TRY(bm_shingler_add(shingler, doc_of(t, first + i), out, err));
    return BM_OK;
}

/* --- the CPU --- */

static bm_status lane_open(const bm_text_trial *t, lane *l, bm_error *err)
{
    l->text.options = t->options;
    BM_TRY(bm_new(&l->words, (size_t)LANE_DOCS * t->cfg.row_uints, err));
    BM_TRY(bm_new(&l->keys, (size_t)LANE_DOCS * t->cfg.bands, err));
    return bm_shingler_open(&t->options, t->cfg.cpu, &l->shingler, err);
}

static void lane_close(lane *l)
{
    bm_shingler_close(l->shingler);
    bm_text_batch_reset(&l->text);
    bm_shingle_batch_reset(&l->hashes);
    bm_free_all(l->words, l->keys);
}

static bm_status lane_sign(const bm_text_trial *t, lane *l, bm_error *err)
{
    bm_backend *native = t->cfg.native;
    bm_sign_task task = {.offsets = l->hashes.offsets,
                         .hashes = l->hashes.hashes,
                         .n_docs = LANE_DOCS,
                         .words = l->words,
                         .keys = t->cfg.bands > 0 ? l->keys : NULL};
    if (native == NULL)
        return BM_OK;
    BM_TRY(native->ops->submit(native, &task, err));
    return native->ops->wait(native, &task, err);
}

/* One round of a thread's work on some documents. */
static bm_status lane_round(const bm_text_trial *t, lane *l, size_t first, bool sign, parts *spent,
                            bm_error *err)
{
    const double begin = bm_clock_of(CLOCK_THREAD_CPUTIME_ID);
    if (t->cfg.texts)
        BM_TRY(make_texts(t, l->shingler, first, LANE_DOCS, &l->text, err));
    const double joined = bm_clock_of(CLOCK_THREAD_CPUTIME_ID);
    BM_TRY(make_hashes(t, l->shingler, first, LANE_DOCS, &l->hashes, err));
    const double hashed = bm_clock_of(CLOCK_THREAD_CPUTIME_ID);
    if (sign)
        BM_TRY(lane_sign(t, l, err));
    *spent =
        (parts){joined - begin, hashed - joined, bm_clock_of(CLOCK_THREAD_CPUTIME_ID) - hashed};
    return BM_OK;
}

/* Work in rounds until LANE_SECONDS or LANE_ROUNDS are reached; the first round does not count.
 * With `beside`, a device is being timed: work without signing until t->stop is set. */
static bm_status lane_run(const bm_text_trial *t, lane *l, size_t number, bool beside,
                          bm_error *err)
{
    parts spent;
    l->spent = (parts){0};
    l->rounds = 0;
    BM_TRY(lane_round(t, l, number * LANE_DOCS, !beside, &spent, err));
    while (beside ? !atomic_load(&t->stop)
                  : l->rounds < LANE_ROUNDS &&
                        l->spent.join + l->spent.hash + l->spent.sign < LANE_SECONDS) {
        BM_TRY(lane_round(t, l, number * LANE_DOCS, !beside, &spent, err));
        l->spent.join += spent.join;
        l->spent.hash += spent.hash;
        l->spent.sign += spent.sign;
        l->rounds++;
    }
    return BM_OK;
}

/* The mean processor time for the whole text, over the rounds of all threads. False: no round was
 * completed. */
static bool mean_of(const bm_text_trial *t, parts *out)
{
    parts sum = {0};
    double rounds = 0;
    for (uint32_t i = 0; i < t->cfg.threads; i++) {
        sum.join += t->lanes[i].spent.join;
        sum.hash += t->lanes[i].spent.hash;
        sum.sign += t->lanes[i].spent.sign;
        rounds += t->lanes[i].rounds;
    }
    const double fold = (double)TRIAL_DOCS / LANE_DOCS / rounds;
    if (rounds == 0)
        return false;
    *out = (parts){sum.join * fold, sum.hash * fold, sum.sign * fold};
    if (t->cfg.text == NULL)
        out->hash = 0; /* the job has given hashes, so none are made */
    return true;
}

static bm_status run_lane(void *ctx, uint32_t thread, bm_error *err)
{
    bm_text_trial *t = ctx;
    return lane_run(t, &t->lanes[thread], thread, false, err);
}

static bm_status measure_cpu(bm_text_trial *t, bm_error *err)
{
    bm_pool *pool = NULL;
    BM_TRY(bm_pool_open(t->cfg.threads, &pool, err));
    const bm_status status = bm_pool_run(pool, run_lane, t, err);
    bm_pool_close(pool);
    mean_of(t, &t->alone);
    return status;
}

bm_status bm_text_trial_open(const bm_text_trial_cfg *cfg, bm_text_trial **out, bm_error *err)
{
    bm_text_trial *t = NULL;
    bm_status status = BM_OK;
    BM_TRY(bm_new_zero(&t, 1, err));
    t->cfg = *cfg;
    t->cfg.threads = cfg->threads > 0 ? cfg->threads : 1;
    t->options = t->text.options = cfg->text != NULL ? *cfg->text : given_hashes;
    BM_TRY_OUT(bm_new_zero(&t->lanes, t->cfg.threads, err));
    BM_TRY_OUT(bm_new(&t->bytes, TRIAL_DOCS * DOC_BYTES, err));
    fill_words(t->bytes, TRIAL_DOCS * DOC_BYTES);
    for (uint32_t i = 0; i < t->cfg.threads; i++)
        BM_TRY_OUT(lane_open(t, &t->lanes[i], err));
    status = measure_cpu(t, err);
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
    for (uint32_t i = 0; trial->lanes != NULL && i < trial->cfg.threads; i++)
        lane_close(&trial->lanes[i]);
    bm_text_batch_reset(&trial->text);
    bm_shingle_batch_reset(&trial->hashes);
    bm_free_all(trial->bytes, trial->words, trial->keys, trial->counts, trial->content,
                trial->lanes, trial->devices, trial);
}

/* The bytes of n documents: the bytes of their texts or, if the job has given hashes, of their
 * hashes. */
static double bytes_of(const bm_text_trial *t, size_t n)
{
    return t->cfg.text != NULL ? (double)n * DOC_BYTES
                               : (double)n * (DOC_BYTES - given_hashes.shingle_k + 1) * 8;
}

/* Bytes per second if the whole text takes `seconds` (with a coarse clock, `seconds` may be 0). */
static double rate_of(const bm_text_trial *t, double seconds)
{
    return bytes_of(t, TRIAL_DOCS) / (seconds > 0 ? seconds : 1e-9);
}

double bm_text_trial_cpu_rate(const bm_text_trial *trial)
{
    return rate_of(trial, (trial->alone.hash + trial->alone.sign) / trial->cfg.threads);
}

/* --- a device --- */

/* Unless they are filled already, fill the batch of hashes and, if texts are tried, the batch of
 * texts. Also allocate memory for the results of DEPTH_MAX tasks. */
static bm_status make_batches(bm_text_trial *t, bm_error *err)
{
    const size_t docs = (size_t)TRIAL_DOCS * DEPTH_MAX;
    if (t->made)
        return BM_OK;
    if (t->words == NULL)
        BM_TRY(bm_new(&t->words, docs * t->cfg.row_uints, err));
    if (t->keys == NULL)
        BM_TRY(bm_new(&t->keys, docs * t->cfg.bands, err));
    if (t->counts == NULL)
        BM_TRY(bm_new(&t->counts, docs, err));
    if (t->content == NULL)
        BM_TRY(bm_new(&t->content, docs, err));
    if (t->cfg.texts)
        BM_TRY(make_texts(t, t->lanes[0].shingler, 0, TRIAL_DOCS, &t->text, err));
    BM_TRY(make_hashes(t, t->lanes[0].shingler, 0, TRIAL_DOCS, &t->hashes, err));
    t->made = true;
    return BM_OK;
}

/* A device, one form, and the size of its tasks. */
typedef struct timing {
    bm_text_trial *trial;
    bm_backend *backend;
    bool text;
    uint32_t depth;
    size_t n_docs; /* documents of each task */
    form_time *out;
} timing;

/* Set up task i with the first x->n_docs documents of the batch. */
static bm_sign_task *set_task(const timing *x, uint32_t i)
{
    bm_text_trial *t = x->trial;
    const size_t at = (size_t)i * TRIAL_DOCS;
    t->tasks[i] = (bm_sign_task){.offsets = x->text ? t->text.slots : t->hashes.offsets,
                                 .hashes = x->text ? NULL : t->hashes.hashes,
                                 .text = x->text ? &t->text : NULL,
                                 .n_docs = x->n_docs,
                                 .words = t->words + at * t->cfg.row_uints,
                                 .keys = t->cfg.bands > 0 ? t->keys + at * t->cfg.bands : NULL,
                                 .n_shingles = x->text ? t->counts + at : NULL,
                                 .content = x->text ? t->content + at : NULL};
    return &t->tasks[i];
}

static bm_status submit(const timing *x, uint32_t i, bm_error *err)
{
    return x->backend->ops->submit(x->backend, &x->trial->tasks[i], err);
}

static bm_status wait_for(const timing *x, uint32_t i, bm_error *err)
{
    return x->backend->ops->wait(x->backend, &x->trial->tasks[i], err);
}

/* Time one batch of x->n_docs documents, alone on the device. */
static bm_status time_one(timing *x, double *seconds, bm_error *err)
{
    const double mark = bm_clock_seconds(), cpu = bm_clock_of(CLOCK_PROCESS_CPUTIME_ID);
    set_task(x, 0);
    BM_TRY(submit(x, 0, err));
    BM_TRY(wait_for(x, 0, err));
    *seconds = bm_clock_seconds() - mark;
    *seconds = *seconds > 0 ? *seconds : 1e-9;
    x->out->rate = bytes_of(x->trial, x->n_docs) / *seconds;
    x->out->beside = (bm_clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu) * TRIAL_DOCS / (double)x->n_docs;
    return BM_OK;
}

/* Time single batches of growing size on the device, until one takes long enough. The first batch
 * of a size may spend time on allocation, so a batch that takes long is timed again. *slow becomes
 * true if the device is so slow with the first size that it is not tried further. */
static bm_status time_alone(timing *x, bool *slow, bm_error *err)
{
    *slow = false;
    for (x->n_docs = FIRST_DOCS;;) {
        double seconds;
        BM_TRY(time_one(x, &seconds, err));
        if (seconds >= BATCH_SECONDS / 2)
            BM_TRY(time_one(x, &seconds, err));
        if (x->n_docs == FIRST_DOCS)
            *slow = seconds > SLOW_SECONDS &&
                    x->out->rate * SLOW_PART < bm_text_trial_cpu_rate(x->trial);
        if (seconds >= BATCH_SECONDS / 2 || x->n_docs == TRIAL_DOCS)
            return BM_OK;
        const double fold = BATCH_SECONDS / seconds;
        x->n_docs = fold < FOLD_MOST ? (size_t)(fold * (double)x->n_docs) : FOLD_MOST * x->n_docs;
        x->n_docs = x->n_docs < TRIAL_DOCS ? x->n_docs : TRIAL_DOCS;
    }
}

static void unstage(const timing *x)
{
    for (uint32_t i = 0; i < x->depth; i++) {
        bm_staged *staged = x->trial->tasks[i].staged;
        if (staged != NULL)
            staged->backend->ops->unstage(staged);
        x->trial->tasks[i].staged = NULL;
    }
}

/* Set up all tasks, and stage them if the backend has places. If a place is too small, it grows
 * when the task is submitted, so the task is submitted once, and staging is tried again. *seconds
 * becomes the time of staging one task; 0: no task was staged. */
static bm_status stage(const timing *x, double *seconds, bm_error *err)
{
    *seconds = 0;
    for (uint32_t i = 0; i < x->depth; i++) {
        bm_sign_task *task = set_task(x, i);
        for (int tries = 0; tries < 2 && task->staged == NULL; tries++) {
            if (tries > 0) {
                BM_TRY(submit(x, i, err));
                BM_TRY(wait_for(x, i, err));
            }
            const double mark = bm_clock_of(CLOCK_THREAD_CPUTIME_ID);
            task->staged = bm_backend_stage(x->backend, task);
            if (task->staged != NULL)
                *seconds = bm_clock_of(CLOCK_THREAD_CPUTIME_ID) - mark;
        }
    }
    return BM_OK;
}

/* Time the device with several batches in flight. It is timed twice, and the faster time counts. */
static bm_status time_flight(const timing *x, double staging, bm_error *err)
{
    const uint32_t each = x->depth;
    const double fold = (double)TRIAL_DOCS / (double)x->n_docs;
    double least = 0, beside = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->depth; i++)
        BM_TRY(submit(x, i, err));
    BM_TRY(wait_for(x, n, err));
    for (uint32_t s = 0; s < STRETCHES; s++) {
        const double mark = bm_clock_seconds(), cpu = bm_clock_of(CLOCK_PROCESS_CPUTIME_ID);
        for (uint32_t i = 0; i < each; i++) {
            BM_TRY(submit(x, n, err));
            n = (n + 1) % x->depth;
            BM_TRY(wait_for(x, n, err));
        }
        const double seconds = bm_clock_seconds() - mark;
        if (s == 0 || seconds < least) {
            least = seconds;
            beside = bm_clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        }
    }
    x->out->rate = bytes_of(x->trial, x->n_docs) * each / (least > 0 ? least : 1e-9);
    x->out->beside = (beside / each + staging) * fold;
    return BM_OK;
}

static bm_status time_staged(const timing *x, bm_error *err)
{
    double staging;
    BM_TRY(stage(x, &staging, err));
    return time_flight(x, staging, err);
}

static bm_status time_form(timing *x, bm_error *err)
{
    bool slow;
    BM_TRY(time_alone(x, &slow, err));
    if (slow)
        return BM_OK;
    const bm_status status = time_staged(x, err);
    if (status != BM_ERR_UNSUPPORTED) /* if the device's buffers are too small for several batches,
                                       * the time of single batches counts */
        BM_TRY(status);
    BM_TRY(x->backend->ops->drain(x->backend, err));
    unstage(x);
    return BM_OK;
}

/* Thread 0 times the device while all other threads do the host's work. */
static bm_status run_beside(void *ctx, uint32_t thread, bm_error *err)
{
    timing *x = ctx;
    bm_text_trial *t = x->trial;
    if (thread > 0)
        return lane_run(t, &t->lanes[thread - 1], thread - 1, true, err);
    const bm_status status = time_form(x, err);
    atomic_store(&t->stop, true);
    return status;
}

/* Time a device that shares memory with the host, while the host works. The processor time of the
 * driver cannot be separated from that of the threads, so it is not counted. */
static bm_status time_beside(timing *x, bm_error *err)
{
    bm_pool *pool = NULL;
    BM_TRY(bm_pool_open(x->trial->cfg.threads + 1, &pool, err));
    atomic_store(&x->trial->stop, false);
    const bm_status status = bm_pool_run(pool, run_beside, x, err);
    bm_pool_close(pool);
    mean_of(x->trial, &x->out->host);
    x->out->beside = 0;
    return status;
}

static bm_status try_form(bm_text_trial *t, bm_backend *backend, bool text, form_time *out,
                          bm_error *err)
{
    timing x = {.trial = t, .backend = backend, .text = text, .out = out};
    x.depth = backend->depth < 1 ? 1 : backend->depth > DEPTH_MAX ? DEPTH_MAX : backend->depth;
    *out = (form_time){.host = t->alone};
    return backend->info.unified_bytes > 0 && backend->info.kind != BM_DEVICE_CL_CPU
               ? time_beside(&x, err)
               : time_form(&x, err);
}

bm_status bm_text_trial_run(bm_text_trial *trial, bm_backend *backend, bm_error *err)
{
    device_time took = {.text.rate = 0};
    BM_TRY(make_batches(trial, err));
    BM_TRY(bm_grow(&trial->devices, &trial->cap_devices, trial->n_devices + 1,
                   sizeof *trial->devices, err));
    BM_TRY(try_form(trial, backend, false, &took.hashes, err));
    bm_status status = BM_ERR_UNSUPPORTED;
    if (trial->cfg.texts && backend->accepts_text)
        status = try_form(trial, backend, true, &took.text, err);
    if (status == BM_ERR_UNSUPPORTED)
        took.text = (form_time){.rate = 0}; /* the device does not take texts, so hashes win */
    else
        BM_TRY(status);
    trial->devices[trial->n_devices++] = took;
    trial->same_processors |= backend->info.kind == BM_DEVICE_CL_CPU;
    return BM_OK;
}

void bm_text_trial_drop(bm_text_trial *trial, size_t i)
{
    trial->n_devices--;
    memmove(trial->devices + i, trial->devices + i + 1,
            (trial->n_devices - i) * sizeof *trial->devices);
}

/* --- the result --- */

/* The rate of a form (text_offload.h), from the rates of host and device; 0 if one of the two is
 * 0. */
static double text_way_rate(double host_rate, double device_rate, bool same_processors)
{
    if (host_rate <= 0 || device_rate <= 0)
        return 0;
    if (same_processors)
        return 1 / (1 / host_rate + 1 / device_rate);
    return host_rate < device_rate ? host_rate : device_rate;
}

static const form_time *form_of(const bm_text_trial *t, size_t i, bool text)
{
    return text ? &t->devices[i].text : &t->devices[i].hashes;
}

/* The rate of one form with devices `from` … `end`-1. *host becomes the rate of the host, *device
 * the sum of the rates of these devices. */
static double rate_with(const bm_text_trial *t, size_t from, size_t end, bool text, double *host,
                        double *device)
{
    double seconds = 0;
    *device = 0;
    for (size_t i = from; i < end; i++) {
        const form_time *f = form_of(t, i, text);
        *device += f->rate;
        seconds += text ? f->host.join : f->host.hash;
        if (!t->same_processors) /* otherwise the device's work would be counted twice */
            seconds += f->beside;
    }
    *host = rate_of(t, seconds / (double)(end > from ? end - from : 1) / t->cfg.threads);
    return text_way_rate(*host, *device, t->same_processors);
}

double bm_text_trial_rate(const bm_text_trial *trial, size_t i)
{
    double host, device;
    const double text = rate_with(trial, i, i + 1, true, &host, &device);
    const double hashes = rate_with(trial, i, i + 1, false, &host, &device);
    return text > hashes ? text : hashes;
}

void bm_text_trial_judge(const bm_text_trial *trial, bm_text_offload *offload)
{
    const size_t n = trial->n_devices;
    offload->text_rate =
        rate_with(trial, 0, n, true, &offload->host_text_rate, &offload->device_text_rate);
    offload->hash_rate =
        rate_with(trial, 0, n, false, &offload->host_hash_rate, &offload->device_hash_rate);
    offload->cpu_rate = bm_text_trial_cpu_rate(trial);
    offload->taken = offload->text_rate > offload->hash_rate;
    offload->measured = true;
}
