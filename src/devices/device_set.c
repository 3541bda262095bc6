/* SPDX-License-Identifier: Apache-2.0 */
/* device_set.c -- opens the chosen devices, checks their answers, and stops using devices that
 * fail.
 *
 * Tests: tests/cli/cases/devices.sh, tests/cli/cases/devices_together.sh,
 *        tests/fault/device/answers.sh, tests/fault/device/calls.sh,
 *        tests/identity/test_outputs.py, tests/unit/devices/test_device_open.c,
 *        tests/unit/devices/test_device_pick.c */
#include "devices/device_set.h"

#include <bandmill/option_names.h>
#include <bandmill/schemes.h>

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/threads.h"
#include "cpu/cpu_backend.h"
#include "model/scheme_facts.h"
#include "opencl/cl_backend.h"
#include "opencl/cl_listing.h"
#include "opencl/known_answers.h"
#include "text/unit_text.h"

/* device_pick -- each word of the list marks devices. Marked devices are opened in the order of the
 * list of devices. */

typedef struct listing {
    bm_device_info *devices; /* the native CPU, and the rows of cl_listing.h */
    size_t n;
    bool *marked;
    bool broken;    /* OpenCL failed; `note` is the reason */
    char note[640]; /* the reason why there is no OpenCL device; "": there is one */
} listing;

static bool word_is(bm_str word, const char *name)
{
    return word.len == strlen(name) && strncasecmp(word.data, name, word.len) == 0;
}

static bool name_contains(const char *name, bm_str part)
{
    for (const char *p = name; *p != '\0'; p++)
        if (strncasecmp(p, part.data, part.len) == 0 && strlen(p) >= part.len)
            return true;
    return false;
}

static bool is_gpu(const bm_device_info *device)
{
    return device->kind == BM_DEVICE_CL_GPU && device->usable && !bm_cl_is_emulator(device);
}

/* Describe which other row is the same GPU, and which property shows this. */
static const char *describe_same(const bm_device_info *device, char *out, size_t cap)
{
    if (strcmp(device->same_by, "pci") == 0)
        snprintf(out, cap, "the same GPU as %s, at PCI address %s", device->same_as, device->pci);
    else if (strcmp(device->same_by, "uuid") == 0)
        snprintf(out, cap, "the same GPU as %s, with UUID %s", device->same_as, device->uuid);
    else
        snprintf(out, cap, "the same GPU as %s, by name and memory (a driver gives no address)",
                 device->same_as);
    return out;
}

/* The reason why `auto` does not use an OpenCL device; NULL: `auto` uses it. */
static const char *why_not_auto(const bm_device_info *device, char *words, size_t cap)
{
    if (!device->usable)
        return device->why;
    if (device->kind == BM_DEVICE_CL_CPU)
        return "a CPU, on which native code is faster";
    if (device->kind != BM_DEVICE_CL_GPU)
        return "neither a GPU nor a CPU";
    if (bm_cl_is_emulator(device))
        return "an emulator, not a GPU";
    return device->same_as[0] != '\0' ? describe_same(device, words, cap) : NULL;
}

static bool word_matches(bm_str word, const bm_device_info *device, bool first_cl)
{
    if (word_is(word, "cpu"))
        return device->kind == BM_DEVICE_NATIVE;
    if (word_is(word, "gpu"))
        return is_gpu(device);
    if (word_is(word, "all"))
        return is_gpu(device) || device->kind == BM_DEVICE_NATIVE;
    if (word_is(word, "opencl"))
        return first_cl;
    if (word.len > 7 && strncasecmp(word.data, "opencl:", 7) == 0)
        return word_is(word, device->spec);
    return device->kind != BM_DEVICE_NATIVE &&
           (name_contains(device->name, word) || name_contains(device->platform, word));
}

/* Does a word "opencl:P.D" name a device of this platform? */
static bool is_within(bm_str word, const bm_device_info *platform)
{
    const size_t len = strlen(platform->spec);
    return word.len > len && strncasecmp(word.data, platform->spec, len) == 0 &&
           word.data[len] == '.';
}

/* Another row of the same GPU that is preferred to this row; NULL: there is none. */
static const bm_device_info *preferred(const listing *all, const bm_device_info *device)
{
    for (size_t i = 0; i < all->n && device->same_as[0] != '\0'; i++)
        if (strcmp(all->devices[i].spec, device->same_as) == 0)
            return &all->devices[i];
    return NULL;
}

/* Does the word select this row? It does not if it also fits the preferred row of the same GPU, and
 * that row is usable. */
static bool word_means(const listing *all, bm_str word, const bm_device_info *device, bool first_cl)
{
    const bm_device_info *other = preferred(all, device);
    return word_matches(word, device, first_cl) &&
           (other == NULL || !other->usable || !word_matches(word, other, false));
}

static bm_status mark_word(listing *all, bm_str word, bm_error *err)
{
    bool seen_cl = false, found = false;
    const bm_device_info *empty = NULL; /* a selected platform without devices */
    for (size_t i = 0; i < all->n; i++) {
        const bm_device_info *device = &all->devices[i];
        if (device->kind == BM_DEVICE_CL_NONE) {
            if (word_matches(word, device, false) || is_within(word, device))
                empty = device;
            continue;
        }
        bool cl = device->kind != BM_DEVICE_NATIVE;
        bool first_cl = cl && device->usable && !seen_cl;
        seen_cl = seen_cl || first_cl;
        if (!word_means(all, word, device, first_cl))
            continue;
        if (!device->usable)
            return bm_fail(err, BM_ERR_DEVICE, "device %s cannot be used: %s", device->spec,
                           device->why);
        all->marked[i] = found = true;
    }
    if (found)
        return BM_OK;
    if (empty != NULL)
        return bm_fail(err, BM_ERR_DEVICE, "no device matches '%.*s' (%s: %s)", (int)word.len,
                       word.data, empty->platform, empty->why);
    return bm_fail(
        err, BM_ERR_DEVICE, "no device matches '%.*s' (%s; the list of devices has their names)",
        (int)word.len, word.data,
        all->note[0] != '\0' ? all->note : "cpu, gpu, opencl, opencl:P.D, all or part of a name");
}

static void log_left_out(const bm_callbacks *callbacks, const bm_device_info *device,
                         const char *why_not)
{
    char text[640];
    if (callbacks == NULL || callbacks->log == NULL)
        return;
    snprintf(text, sizeof text, "%s (%s%s%s) is not used: %s", device->spec, device->platform,
             device->name[0] != '\0' ? ", " : "", device->name, why_not);
    callbacks->log(callbacks->ctx, BM_LOG_DEBUG, text);
}

static void mark_auto(listing *all, const bm_callbacks *callbacks, bm_device_pick *out)
{
    size_t n_gpus = 0;
    for (size_t i = 1; i < all->n; i++) {
        const bm_device_info *device = &all->devices[i];
        char words[160];
        const char *why_not = why_not_auto(device, words, sizeof words);
        all->marked[i] = all->marked[i] || why_not == NULL;
        n_gpus += why_not == NULL;
        if (why_not != NULL)
            log_left_out(callbacks, device, why_not);
    }
    out->fallback = true;
    if (n_gpus > 0) {
        snprintf(out->why, sizeof out->why, "%zu GPU%s found", n_gpus, n_gpus == 1 ? "" : "s");
        return;
    }
    all->marked[0] = true;
    const char *why = "no GPU among the OpenCL devices";
    if (all->note[0] != '\0')
        why = all->n == 1 ? all->note
                          : "no OpenCL platform has a device; the list of devices has the reasons";
    snprintf(out->why, sizeof out->why, "using the CPU (%s)", why);
}

static bm_status mark_all(listing *all, const char *words, const bm_callbacks *callbacks,
                          bm_device_pick *out, bm_error *err)
{
    const char *p = words;
    for (;;) {
        const char *end = strchr(p, ',');
        bm_str word = {p, end != NULL ? (size_t)(end - p) : strlen(p)};
        if (word.len == 0)
            return bm_fail_field(err, "device", "an empty name in the device list '%s'", words);
        if (word_is(word, "auto")) {
            mark_auto(all, callbacks, out);
        } else {
            BM_TRY(mark_word(all, word, err));
        }
        if (end == NULL)
            return BM_OK;
        p = end + 1;
    }
}

bool bm_device_is_auto(const char *words)
{
    return words != NULL && strcasecmp(words, "auto") == 0;
}

/* Are the words `auto`, alone or with `cpu`? If so, GPUs are the only OpenCL devices needed. */
static bool names_only_auto(const char *words)
{
    return bm_device_is_auto(words) || strcasecmp(words, "cpu,auto") == 0 ||
           strcasecmp(words, "auto,cpu") == 0;
}

/* Set `out` to the reasons why the platforms have no devices; "" if any platform has a device. */
static void note_platforms(const bm_cl_listing *cl, char *out, size_t cap)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < cl->n && used < cap; i++) {
        if (cl->rows[i].kind != BM_DEVICE_CL_NONE) {
            out[0] = '\0';
            return;
        }
        used += (size_t)snprintf(out + used, cap - used, "%s%.80s: %s", i > 0 ? "; " : "",
                                 cl->rows[i].platform, cl->rows[i].why);
    }
}

/* List all devices. If `options` is NULL, OpenCL devices are not listed. */
static bm_status list(bm_cl_need need, const bm_device_options *options,
                      const bm_callbacks *callbacks, const char *cpu, listing *all, bm_error *err)
{
    bm_cl_listing cl = {.n = 0};
    if (options != NULL) {
        const bm_device_settings settings = bm_device_settings_of(options);
        BM_TRY(bm_cl_list_safely(need, &settings, options->cache_dir, callbacks, &cl, err));
    }
    all->devices = bm_alloc_zero(cl.n + 1, sizeof *all->devices);
    all->marked = bm_alloc_zero(cl.n + 1, sizeof *all->marked);
    if (all->devices == NULL || all->marked == NULL) {
        bm_free_all(all->devices, all->marked, cl.rows);
        *all = (listing){0};
        return bm_fail_nomem(err, (cl.n + 1) * sizeof *all->devices);
    }
    bm_backend_cpu_info(cpu, &all->devices[0]);
    for (size_t i = 0; i < cl.n; i++)
        all->devices[i + 1] = cl.rows[i];
    all->n = cl.n + 1;
    all->broken = cl.broken;
    if (cl.note[0] != '\0')
        memcpy(all->note, cl.note, sizeof all->note);
    else
        note_platforms(&cl, all->note, sizeof all->note);
    bm_free(cl.rows);
    return BM_OK;
}

bm_status bm_device_pick_open(const bm_device_options *options, const bm_callbacks *callbacks,
                              bm_device_pick *out, bm_error *err)
{
    listing all = {0};
    const char *words = options->device;
    if (words == NULL)
        words = "cpu";
    memset(out, 0, sizeof *out);
    bm_isa isa;
    if (bm_isa_choose(options->cpu, &isa, err) != BM_OK)
        return BM_ERR_USAGE;
    bm_status status = BM_OK;
    out->asked = options->device != NULL && !options->by_default;
    out->measured = names_only_auto(words);
    const bm_cl_need need = out->measured ? BM_CL_NEED_GPUS : BM_CL_NEED_ALL;
    const bool cl = strcasecmp(words, "cpu") != 0;
    BM_TRY_OUT(list(need, cl ? options : NULL, callbacks, options->cpu, &all, err));
    BM_TRY_OUT(mark_all(&all, words, callbacks, out, err));
    for (size_t i = 0; i < all.n; i++) {
        if (all.marked[i])
            all.devices[out->n++] = all.devices[i];
    }
    if (all.broken) {
        out->broken = true;
        snprintf(out->why, sizeof out->why, "using the CPU: %s", all.note);
    }
out:
    if (status == BM_OK)
        out->devices = all.devices;
    else
        bm_free(all.devices);
    bm_free(all.marked);
    return status;
}

bm_status bm_device_pick_list(const bm_device_options *options, const bm_callbacks *callbacks,
                              bm_device_pick *out, bm_error *err)
{
    listing all = {0};
    memset(out, 0, sizeof *out);
    BM_TRY(list(BM_CL_NEED_ALL, options, callbacks, NULL, &all, err));
    out->devices = all.devices;
    out->n = all.n;
    out->broken = all.broken;
    snprintf(out->why, sizeof out->why, "%s", all.note);
    bm_free(all.marked);
    return BM_OK;
}

void bm_device_pick_reset(bm_device_pick *pick)
{
    bm_free(pick->devices);
    memset(pick, 0, sizeof *pick);
}

/* device_open -- see device_set.h. */

bm_status bm_device_open(const bm_device_info *device, const bm_backend_cfg *cfg, bm_backend **out,
                         bm_error *err)
{
    const bm_backend_ops *ops =
        device->kind == BM_DEVICE_NATIVE ? &bm_backend_cpu : &bm_backend_opencl;
    bm_backend_cfg own = *cfg;
    own.device = device->spec;
    return ops->open(&own, out, err);
}

#define CHECK_ONE_IN  1024u /* of this many documents, one is checked; at least one per batch */
#define CREDIT_ONE_IN 128u  /* signed hashes for which the credit grows by one hash */
#define CREDIT_FIRST  (1u << 15)
#define CREDIT_MOST   (1u << 22)
#define LONG_HASHES   4096u
#define START_SECONDS 0.5     /* seconds to start a driver, the kernels and the trial */
#define SMALL_WORK    0x1p+26 /* bytes of text times words of a signature */
#define WORTH_PART    5       /* each device must reach 1 / WORTH_PART of the CPU's rate */
#define WORTH_GAIN    1.1     /* all devices together must reach this multiple of the CPU's rate */
#define SOME_WORDS    4u
/* 768 KiB of hashes, so that a batch stays in the second-level cache of a core. */
#define CPU_BATCH_HASHES (96u * 1024u)

static void add_name(bm_device_set *set, const char *name)
{
    size_t used = strlen(set->names);
    snprintf(set->names + used, sizeof set->names - used, "%s%s", used == 0 ? "" : ", ", name);
}

/* Convert the failure of a device that was selected by name to BM_ERR_DEVICE, with a message that
 * names the device. This includes a failed self-test, and a lack of memory that OpenCL reports
 * (err->code is set). A lack of memory of this process stays BM_ERR_NOMEM. */
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

/* A device that is being opened. If there are several, each but the first has its own thread. */
typedef struct opening {
    const bm_backend_cfg *cfg;
    const bm_device_info *device;
    pthread_t thread;
    bool started;
    bm_status status;
    bm_error error;
    bm_backend *backend; /* NULL: opening failed, or the backend was passed to a worker */
} opening;

static void *open_one(void *ctx)
{
    opening *o = ctx;
    o->status = bm_device_open(o->device, o->cfg, &o->backend, &o->error);
    return NULL;
}

/* Open all devices at once, because drivers may be slow to start. If a thread cannot be started,
 * its device is opened by this thread. */
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

/* Take over an opened device, and run the trial on it, if there is one. If opening failed, return
 * the error of that. If the device gets stuck, it may use the memory of the trial at any later
 * time. Then *trial becomes NULL, and the trial is never freed. */
static bm_status try_opened(opening *opened, bm_text_trial **trial, bm_backend **out, bm_error *err)
{
    bm_backend *backend = opened->backend;
    bm_status status = opened->status;
    opened->backend = NULL;
    if (status != BM_OK) {
        *err = opened->error;
        return status;
    }
    if (*trial != NULL)
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

/* Add a worker for a device. If the device did not open, or fails in the trial, `auto` leaves it
 * out with a warning; if the user named the device, the call fails. */
static bm_status add_worker(bm_device_set *set, opening *opened, bm_text_trial **trial,
                            bm_error *err)
{
    const bm_device_info *device = opened->device;
    bm_error why = {0};
    bm_device_worker *worker = &set->device_workers[set->n_device_workers];
    bm_status status = BM_OK;
    BM_TRY_OUT(try_opened(opened, trial, &worker->backend, &why));
    worker->info = device[0];
    pthread_mutex_init(&worker->lock, NULL);
    worker->credit = CREDIT_FIRST;
    set->n_device_workers++;
    return BM_OK;
out:
    if (set->fallback && status != BM_ERR_CANCELLED) {
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

static bm_offload requested_offload(const bm_device_set_cfg *cfg)
{
    return cfg->settings != NULL ? cfg->settings->text_offload : BM_OFFLOAD_AUTO;
}

/* Choose between texts and hashes for devices, as far as this is possible before they are
 * opened. */
static bm_offload resolve_offload(const bm_device_set_cfg *cfg)
{
    const bm_offload requested = requested_offload(cfg);
    if (cfg->text != NULL && cfg->text->hash != BM_TOKEN_XXH3)
        return BM_OFFLOAD_OFF; /* kernels hash texts only by XXH3 */
    return requested == BM_OFFLOAD_AUTO ? bm_text_offload_rule(cfg->pick->devices, cfg->pick->n)
                                        : requested;
}

/* Does the job have texts that devices can cut? */
static bool has_able_text(const bm_device_set_cfg *cfg)
{
    return cfg->text != NULL && bm_text_batch_able(cfg->text);
}

/* Do devices have kernels for the scheme? If not, the native CPU signs all documents, even if other
 * devices were selected. */
static bool has_kernels(const bm_device_set *set)
{
    return set->params.ops->device.sign_cpu != NULL;
}

/* Does a trial decide whether the devices that `auto` chose pay off? It does not if the user chose
 * between texts and hashes. */
static bool compares(const bm_device_set_cfg *cfg)
{
    const bm_offload requested = requested_offload(cfg);
    return cfg->pick->measured && (requested == BM_OFFLOAD_AUTO || requested == BM_OFFLOAD_TRIAL);
}

/* If the job needs a trial, to choose between devices and the CPU or between texts and hashes, open
 * it. */
static bm_status open_trial(const bm_device_set *set, const bm_device_set_cfg *cfg,
                            bm_text_trial **out, bm_error *err)
{
    const bool texts = has_able_text(cfg) && resolve_offload(cfg) == BM_OFFLOAD_TRIAL;
    const bm_text_trial_cfg trial = {.text = cfg->cut != NULL ? cfg->cut : cfg->text,
                                     .texts = texts,
                                     .row_uints = set->row_uints,
                                     .bands = cfg->bands,
                                     .cpu = cfg->cpu,
                                     .threads = cfg->threads,
                                     .native = set->cpu};
    bool any = false;
    for (size_t i = 0; i < cfg->pick->n; i++)
        any |= cfg->pick->devices[i].kind != BM_DEVICE_NATIVE && has_kernels(set);
    return any && (texts || compares(cfg)) ? bm_text_trial_open(&trial, out, err) : BM_OK;
}

/* Would the job end before a device is ready? All bytes of the inputs count as text, with one
 * shingle per byte. One thread does SMALL_WORK in at most a fifth of a second. */
static bool is_small(const bm_device_set *set, const bm_device_set_cfg *cfg,
                     const bm_text_trial *trial)
{
    const double bytes = (double)cfg->input_bytes;
    if (!compares(cfg) || requested_offload(cfg) == BM_OFFLOAD_TRIAL || cfg->input_bytes == 0)
        return false;
    return trial != NULL ? bytes < START_SECONDS * bm_text_trial_cpu_rate(trial)
                         : bytes * set->perms_used < SMALL_WORK;
}

static void log_without(const bm_device_set *set, const bm_device_set_cfg *cfg, const char *why)
{
    bm_meter_log(set->meter, cfg->pick->asked ? BM_LOG_INFO : BM_LOG_DEBUG, "using the CPU (%s)",
                 why);
}

/* Remove worker i. This moves other workers and their locks, so no thread may have used a lock
 * yet. */
static void drop_worker(bm_device_set *set, bm_text_trial *trial, size_t i)
{
    bm_device_worker *worker = &set->device_workers[i];
    char why[128];
    const bm_callbacks callbacks = bm_meter_callbacks(set->meter);
    snprintf(why, sizeof why, "a trial gave %.3g MB/s with it, and %.3g MB/s on the CPU",
             bm_text_trial_rate(trial, i) * 1e-6, bm_text_trial_cpu_rate(trial) * 1e-6);
    log_left_out(&callbacks, &worker->info, why);
    bm_backend_close(worker->backend);
    pthread_mutex_destroy(&worker->lock);
    set->n_device_workers--;
    memmove(worker, worker + 1, (set->n_device_workers - i) * sizeof *worker);
    memset(&set->device_workers[set->n_device_workers], 0, sizeof *worker);
    bm_text_trial_drop(trial, i);
}

/* Of the devices that `auto` chose, drop those that do not pay off: first each device below a fifth
 * of the CPU's rate, then, if they do not shorten the job, all others. */
static void drop_slow_workers(bm_device_set *set, const bm_device_set_cfg *cfg,
                              bm_text_trial *trial)
{
    const double cpu = bm_text_trial_cpu_rate(trial);
    bm_text_offload with = {.able = false};
    if (!compares(cfg))
        return;
    for (size_t i = set->n_device_workers; i-- > 0;)
        if (bm_text_trial_rate(trial, i) * WORTH_PART < cpu)
            drop_worker(set, trial, i);
    if (set->n_device_workers == 0 || set->use_cpu)
        return;
    bm_text_trial_judge(trial, &with);
    const double rate = with.text_rate > with.hash_rate ? with.text_rate : with.hash_rate;
    for (size_t i = set->n_device_workers; i-- > 0 && rate < cpu * WORTH_GAIN;)
        drop_worker(set, trial, i);
}

/* Choose between texts and hashes for devices. For texts, also open a shingler for each worker. */
static bm_status choose_offload(bm_device_set *set, const bm_device_set_cfg *cfg,
                                const bm_text_trial *trial, bm_error *err)
{
    bm_text_offload *offload = &set->path;
    offload->own_processors = set->n_device_workers > 0 && has_able_text(cfg) &&
                              requested_offload(cfg) == BM_OFFLOAD_AUTO &&
                              resolve_offload(cfg) == BM_OFFLOAD_OFF;
    if (offload->own_processors)
        bm_meter_log(set->meter, BM_LOG_DEBUG,
                     "hashes go to the device: it is made of the host's own processors");
    offload->able = set->n_device_workers > 0;
    for (size_t i = 0; i < set->n_device_workers; i++)
        offload->able = offload->able && set->device_workers[i].backend->accepts_text;
    if (!offload->able)
        return BM_OK;
    offload->taken = requested_offload(cfg) == BM_OFFLOAD_ON;
    if (trial != NULL)
        bm_text_trial_judge(trial, offload);
    if (offload->measured)
        bm_meter_log(set->meter, BM_LOG_DEBUG,
                     "%s go to the device: a trial gave %.0f MB/s of text, and %.0f with hashes "
                     "made here",
                     offload->taken ? "texts" : "hashes", offload->text_rate * 1e-6,
                     offload->hash_rate * 1e-6);
    else if (offload->taken)
        bm_meter_log(set->meter, BM_LOG_DEBUG, "texts go to the device: `text_offload`");
    for (size_t i = 0; offload->taken && i < set->n_device_workers; i++)
        BM_TRY(bm_shingler_open(cfg->text, cfg->cpu, &set->device_workers[i].shingler, err));
    return BM_OK;
}

/* If no device is used, sign on the native CPU. n_opened: number of devices that opened. */
static void use_cpu(bm_device_set *set, size_t n_opened)
{
    if (set->n_device_workers > 0 || set->use_cpu)
        return;
    set->use_cpu = true;
    if (!has_kernels(set))
        bm_meter_log(set->meter, BM_LOG_INFO, "scheme %s is signed on the CPU",
                     bm_option_name(BM_OPTION_SCHEME, set->params.ops->scheme));
    else if (n_opened == 0)
        bm_meter_log(set->meter, BM_LOG_WARNING, "no device is left, signing on the CPU");
}

/* List the names of the chosen devices, for users. */
static void add_names(bm_device_set *set, const bm_device_pick *pick)
{
    bool named = false;
    for (size_t i = 0, at = 0; i < pick->n; i++) {
        const bm_device_info *device = &pick->devices[i];
        const bool worker = at < set->n_device_workers &&
                            strcmp(set->device_workers[at].info.spec, device->spec) == 0;
        at += worker;
        if (worker || device->kind == BM_DEVICE_NATIVE)
            add_name(set, device->name);
        named |= device->kind == BM_DEVICE_NATIVE;
    }
    if (set->use_cpu && !named)
        add_name(set, set->cpu->info.name);
}

/* Open the selected devices as workers, and decide whether the native CPU signs too. */
static bm_status open_devices(bm_device_set *set, const bm_device_set_cfg *cfg,
                              bm_backend_cfg *backend, bm_error *err)
{
    bm_text_trial *trial = NULL;
    opening *openings = NULL;
    size_t n = 0, at = 0;
    bm_status status = BM_OK;
    for (size_t i = 0; i < cfg->pick->n; i++)
        set->use_cpu |= cfg->pick->devices[i].kind == BM_DEVICE_NATIVE;
    BM_TRY_OUT(bm_new_zero(&openings, cfg->pick->n, err));
    bool small = is_small(set, cfg, NULL);
    if (!small)
        BM_TRY_OUT(open_trial(set, cfg, &trial, err));
    small = small || (trial != NULL && is_small(set, cfg, trial));
    for (size_t i = 0; i < cfg->pick->n && has_kernels(set) && !small; i++)
        if (cfg->pick->devices[i].kind != BM_DEVICE_NATIVE)
            openings[n++] = (opening){.cfg = backend, .device = &cfg->pick->devices[i]};
    open_all(openings, n);
    while (at < n)
        BM_TRY_OUT(add_worker(set, &openings[at++], &trial, err));
    const size_t n_opened = set->n_device_workers;
    if (trial != NULL)
        drop_slow_workers(set, cfg, trial);
    if (small && cfg->pick->n > set->use_cpu)
        log_without(set, cfg, "the job is over before a GPU is ready for it");
    else if (n_opened > 0 && set->n_device_workers == 0)
        log_without(set, cfg, "no GPU shortens the job");
    use_cpu(set, small ? cfg->pick->n : n_opened);
    add_names(set, cfg->pick);
    status = choose_offload(set, cfg, trial, err);
out:
    for (; at < n; at++) /* after a failure, close the devices that are not yet workers */
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
        .text = resolve_offload(cfg) == BM_OFFLOAD_OFF || !has_able_text(cfg) ? NULL : cfg->text,
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
        pthread_mutex_destroy(&worker->lock);
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

/* The number of hashes of document d; for a text, an upper bound. */
static uint64_t units_of(const bm_sign_task *task, size_t d)
{
    return task->offsets[d + 1] - task->offsets[d];
}

bool bm_device_set_is_for_cpu(const bm_device_set *set, const bm_sign_task *task)
{
    size_t most = 0;
    for (size_t i = 0; i < set->n_device_workers; i++) {
        const size_t one = set->device_workers[i].backend->doc_hashes;
        most = one != 0 && (most == 0 || one < most) ? one : most;
    }
    for (size_t d = 0; most > 0 && d < task->n_docs; d++)
        if (units_of(task, d) > most)
            return true;
    return false;
}

bm_status bm_device_set_sign_cpu(bm_device_set *set, bm_sign_task *task, bm_error *err)
{
    const bm_backend_ops *ops = set->cpu->ops;
    BM_TRY(ops->submit(set->cpu, task, err));
    return ops->wait(set->cpu, task, err);
}

/* The sample check. Its cost is limited by a credit, in hashes that the native CPU may sign again.
 * For every CREDIT_ONE_IN hashes that its device signs, the credit of a worker grows by one. So the
 * check takes less than a hundredth of the time that native code would need for the whole job. */

/* A document of a task, and its hashes. */
typedef struct sampled {
    size_t doc;
    uint64_t range[2]; /* offsets of the document's hashes */
    const uint64_t *hashes;
    bm_hash128 content; /* content hash, if the task has texts */
} sampled;

/* Are only four words of document d compared? They are for long documents that the device received
 * as hashes, if the scheme can compute single words. */
static bool some_words_do(const bm_device_set *set, const bm_sign_task *task, size_t d)
{
    return task->text == NULL && task->words != NULL && set->params.ops->prefix &&
           set->perms_used > SOME_WORDS && units_of(task, d) > LONG_HASHES;
}

/* The cost of checking document d, in hashes signed by native code. The scalar reference takes as
 * long for one word as native code for eight words. */
static uint64_t cost_of(const bm_device_set *set, const bm_sign_task *task, size_t d)
{
    const uint64_t n = units_of(task, d);
    return some_words_do(set, task, d) ? n * SOME_WORDS * 8 / set->perms_used + 1 : n;
}

static bool is_left_to_host(const bm_sign_task *task, size_t d)
{
    return task->text != NULL && task->text->docs[d].by_host;
}

/* The first document from d on that the device has signed; n_docs: there is none. */
static size_t signed_from(const bm_sign_task *task, size_t d)
{
    while (d < task->n_docs && is_left_to_host(task, d))
        d++;
    return d;
}

/* Of the documents that have hashes, the one that is cheapest to check. The device must have signed
 * at least one document. */
static size_t cheapest(const bm_device_set *set, const bm_sign_task *task)
{
    size_t least = signed_from(task, 0);
    for (size_t i = least; i < task->n_docs; i = signed_from(task, i + 1))
        if (units_of(task, i) > 0 &&
            (units_of(task, least) == 0 || cost_of(set, task, i) < cost_of(set, task, least)))
            least = i;
    return least;
}

/* Get the hashes of document out->doc. If the device received its text, they are made from the
 * text. */
static bm_status hashes_of(bm_device_worker *worker, const bm_sign_task *task, sampled *out,
                           bm_error *err)
{
    if (task->text == NULL) {
        out->hashes = task->hashes;
        memcpy(out->range, task->offsets + out->doc, sizeof out->range);
        return BM_OK;
    }
    bm_shingle_batch *made = &worker->checked;
    bm_shingle_batch_clear(made);
    BM_TRY(bm_unit_text_hash(worker->shingler, task->text, out->doc, made, err));
    out->hashes = made->hashes;
    out->range[1] = bm_shingle_batch_hashes(made);
    out->content = made->content[0];
    return BM_OK;
}

/* Compare four words of a long document with the scalar reference. The document determines which
 * four. */
static bool has_right_words(const bm_device_set *set, const bm_sign_task *task,
                            const sampled *sample)
{
    const uint32_t n_places = set->perms_used / SOME_WORDS;
    const uint32_t first = (uint32_t)(sample->range[0] % n_places) * SOME_WORDS;
    const size_t word_bytes = bm_scheme_value_bytes(set->params.ops->scheme);
    const bm_scheme_params params = bm_scheme_params_some(&set->params, first, SOME_WORDS);
    uint64_t words[SOME_WORDS];
    params.ops->sign(&params, sample->hashes + sample->range[0],
                     (size_t)(sample->range[1] - sample->range[0]), words);
    const char *row = (const char *)(task->words + sample->doc * set->row_uints);
    return memcmp(words, row + first * word_bytes, SOME_WORDS * word_bytes) == 0;
}

/* Sign the document again with the native CPU. Set *right to whether its words, keys, number of
 * shingles and content hash are equal, as far as the task has them. */
static bm_status compare(bm_device_set *set, const bm_sign_task *task, const sampled *sample,
                         bool *right, bm_error *err)
{
    uint32_t words[2 * BM_PERMS_MAX];
    uint64_t keys[BM_PERMS_MAX];
    const size_t row = set->row_uints, bands = set->bands, d = sample->doc;
    bm_sign_task again = {.offsets = sample->range,
                          .hashes = sample->hashes,
                          .n_docs = 1,
                          .words = task->words != NULL ? words : NULL,
                          .keys = task->keys != NULL ? keys : NULL};
    BM_TRY(bm_device_set_sign_cpu(set, &again, err));
    *right =
        (task->words == NULL || memcmp(words, task->words + d * row, row * sizeof *words) == 0) &&
        (task->keys == NULL || memcmp(keys, task->keys + d * bands, bands * sizeof *keys) == 0) &&
        (task->text == NULL || task->content == NULL ||
         memcmp(&sample->content, &task->content[d], sizeof sample->content) == 0) &&
        (task->text == NULL || task->n_shingles[d] == sample->range[1]);
    return BM_OK;
}

bm_status bm_device_set_check(bm_device_set *set, bm_device_worker *worker,
                              const bm_sign_task *task, bm_error *err)
{
    if (bm_device_answers == BM_ANSWERS_BELIEVED || task->n_docs == 0)
        return BM_OK;
    worker->credit += (task->offsets[task->n_docs] - task->offsets[0]) / CREDIT_ONE_IN;
    if (worker->credit > CREDIT_MOST)
        worker->credit = CREDIT_MOST;
    bool dear = false; /* d exceeds the credit; the cheapest document is the last one checked */
    for (size_t d = task->n_docs > CHECK_ONE_IN ? CHECK_ONE_IN / 2 : task->n_docs / 2;
         d < task->n_docs && !dear; d += CHECK_ONE_IN) {
        bool right = true;
        d = signed_from(task, d);
        if (d == task->n_docs)
            break;
        dear = cost_of(set, task, d) > worker->credit;
        sampled sample = {.doc = dear ? cheapest(set, task) : d};
        const uint64_t cost = cost_of(set, task, sample.doc);
        if (cost > worker->credit)
            break;
        worker->credit -= cost;
        BM_TRY(hashes_of(worker, task, &sample, err));
        if (some_words_do(set, task, sample.doc))
            right = has_right_words(set, task, &sample);
        else
            BM_TRY(compare(set, task, &sample, &right, err));
        if (!right && bm_device_answers == BM_ANSWERS_CHECKED)
            return bm_fail_at(err, BM_ERR_DEVICE, worker->info.spec, 0,
                              "%s computed a wrong signature", worker->info.name);
    }
    return BM_OK;
}

/* Mark the worker as dead. The lock of the worker is held. */
static void die(bm_device_set *set, bm_device_worker *worker, bm_status status,
                const bm_error *error)
{
    char words[1400] = "it failed";
    worker->death = *error;
    if (!set->fallback) {
        worker->after_death = named_failure(&worker->info, status, &worker->death);
    } else {
        bm_error_format(error, words, sizeof words);
        bm_meter_log(set->meter, BM_LOG_WARNING,
                     "device %s is given up, its batches are signed on the CPU: %s",
                     worker->info.spec, words);
    }
    worker->dead = true;
}

bm_status bm_device_set_worker_failed(bm_device_set *set, bm_device_worker *worker,
                                      bm_status status, const bm_error *error)
{
    pthread_mutex_lock(&worker->lock);
    if (!worker->dead)
        die(set, worker, status, error);
    pthread_mutex_unlock(&worker->lock);
    return worker->after_death;
}
