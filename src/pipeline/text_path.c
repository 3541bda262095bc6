/* text_path.c -- the trial of both ways.
 *
 * The text is made by a fixed generator: words of 1 to 10 letters, documents of 2 KiB, a megabyte
 * for a device across a link and a quarter of it for one that shares the host's memory. Each way is
 * tried twice and the second counts, since the first allocates. */
#include "pipeline/text_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "pipeline/engine.h"
#include "text/unit_text.h"

#define DOC_BYTES    2048u
#define LINKED_DOCS  512u
#define UNIFIED_DOCS 128u
#define TRIES        2

bm_text_wish bm_text_path_wish(void)
{
    const char *set = getenv("BANDMILL_CL_TEXT");
    if (set != NULL && strcmp(set, "on") == 0)
        return BM_TEXT_ON;
    return set != NULL && strcmp(set, "off") == 0 ? BM_TEXT_OFF : BM_TEXT_AUTO;
}

/* Both forms of the same documents, and room for what devices answer. */
typedef struct trial {
    bm_shingler *shingler;
    char *bytes;
    size_t n_docs;
    bm_text_batch text;
    bm_shingle_batch hashes;
    uint32_t *words, *counts;
    uint64_t *keys;
    double join_seconds, hash_seconds; /* of one thread of the host */
} trial;

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
static bm_status make_batches(trial *t, bm_error *err)
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

static bm_status trial_open(trial *t, const bm_engine *engine, const bm_text_options *options,
                            const char *cpu, bm_error *err)
{
    t->text.options = *options;
    t->bytes = bm_alloc(t->n_docs, DOC_BYTES);
    t->words = bm_alloc(t->n_docs * engine->perms_used, sizeof *t->words);
    t->keys = bm_alloc(t->n_docs * engine->bands, sizeof *t->keys);
    t->counts = bm_alloc(t->n_docs, sizeof *t->counts);
    if (t->bytes == NULL || t->words == NULL || t->keys == NULL || t->counts == NULL)
        return bm_fail_nomem(err, t->n_docs * DOC_BYTES);
    fill_words(t->bytes, t->n_docs * DOC_BYTES);
    bm_status status = bm_shingler_open(options, cpu, &t->shingler, err);
    return status == BM_OK ? make_batches(t, err) : status;
}

static void trial_close(trial *t)
{
    bm_shingler_close(t->shingler);
    bm_text_batch_reset(&t->text);
    bm_shingle_batch_reset(&t->hashes);
    bm_free(t->bytes);
    bm_free(t->words);
    bm_free(t->keys);
    bm_free(t->counts);
}

/* Seconds of a device for the task; 0: it failed. */
static double time_task(bm_backend *backend, bm_sign_task *task)
{
    double seconds = 0;
    for (int tries = 0; tries < TRIES; tries++) {
        double mark = bm_clock_seconds();
        if (backend->ops->submit(backend, task, NULL) != BM_OK ||
            backend->ops->wait(backend, task, NULL) != BM_OK)
            return 0;
        seconds = bm_clock_seconds() - mark;
    }
    return seconds;
}

/* Bytes a second of a way: host seconds of all threads, rate of all devices. */
static double rate_of(double host_seconds, double device_rate, double bytes, bool same_processors)
{
    const double device_seconds = bytes / device_rate;
    if (same_processors)
        return bytes / (host_seconds + device_seconds);
    return bytes / (host_seconds > device_seconds ? host_seconds : device_seconds);
}

static void measure(bm_engine *engine, trial *t, uint32_t threads)
{
    const double bytes = (double)t->n_docs * DOC_BYTES;
    double text_rate = 0, hash_rate = 0;
    bool same_processors = false;
    for (size_t i = 0; i < engine->n_lanes; i++) {
        bm_sign_task task = {.offsets = t->hashes.offsets,
                             .hashes = t->hashes.hashes,
                             .n_docs = t->n_docs,
                             .words = t->words,
                             .keys = engine->bands > 0 ? t->keys : NULL};
        const double hash_seconds = time_task(engine->lanes[i].backend, &task);
        task.offsets = t->text.slots;
        task.hashes = NULL;
        task.text = &t->text;
        task.n_shingles = t->counts;
        const double text_seconds = time_task(engine->lanes[i].backend, &task);
        if (hash_seconds <= 0 || text_seconds <= 0)
            return;
        text_rate += bytes / text_seconds;
        hash_rate += bytes / hash_seconds;
        same_processors |= engine->lanes[i].info.kind == BM_DEVICE_CL_CPU;
    }
    bm_text_path *path = &engine->path;
    path->text_rate = rate_of(t->join_seconds / threads, text_rate, bytes, same_processors);
    path->hash_rate = rate_of(t->hash_seconds / threads, hash_rate, bytes, same_processors);
    path->taken = path->text_rate > path->hash_rate;
    path->measured = true;
}

bm_status bm_text_path_choose(bm_engine *engine, const bm_text_options *options, uint32_t threads,
                              const char *cpu, bm_error *err)
{
    bm_text_path *path = &engine->path;
    trial t = {.n_docs = UNIFIED_DOCS};
    path->able = engine->n_lanes > 0;
    for (size_t i = 0; i < engine->n_lanes; i++) {
        path->able = path->able && engine->lanes[i].backend->takes_text;
        if (engine->lanes[i].info.kind != BM_DEVICE_CL_CPU)
            t.n_docs = LINKED_DOCS;
    }
    if (!path->able)
        return BM_OK;
    if (bm_text_path_wish() == BM_TEXT_ON) {
        path->taken = true;
        bm_meter_log(engine->meter, BM_LOG_DEBUG, "texts go to the device (BANDMILL_CL_TEXT)");
        return BM_OK;
    }
    bm_status status = trial_open(&t, engine, options, cpu, err);
    if (status == BM_OK)
        measure(engine, &t, threads);
    if (path->measured)
        bm_meter_log(engine->meter, BM_LOG_DEBUG,
                     "%s to the device: a trial gave %.0f MB/s of text, and %.0f with hashes made "
                     "here",
                     path->taken ? "texts go" : "hashes go", path->text_rate * 1e-6,
                     path->hash_rate * 1e-6);
    trial_close(&t);
    return status;
}
