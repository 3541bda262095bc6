/* kernel_tune.c -- bm_kernel_tune: a better row of kernel parameters for each chosen OpenCL device.
 *
 *     open with the present row | made documents, their right words
 *     for each row of the search:
 *         what it comes to here, unless known | open (a trial run builds it in a process of its
 *         own) | every word compared | runs
 *     the best and the present row in turns
 *
 * Compiled programs go to a cache of its own, which is removed at the end: rows that lose leave
 * nothing behind. A row that does not build, computes wrong words, or whose trial run dies or takes
 * more than a minute is left out and said so. Where the search finds nothing that holds in the
 * comparison at the end, the present row is what it gives, under the name of the device.
 *
 * Tests: tests/cli/cases/bench_tune.sh */
#include <bandmill/version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/meter.h"
#include "base/orders.h"
#include "bench/bench.h"
#include "bench/bench_answer.h"
#include "bench/kernel_tune_search.h"
#include "devices/device_set.h"
#include "json/json_write.h"
#include "model/option_check.h"
#include "opencl/cl_backend.h"
#include "sketch/scheme.h"

/* kernel_tune_report -- what `bandmill bench --tune` found on each device, and writing it. */

/* A row that was tried. */
typedef struct bm_kernel_tune_tried {
    bm_kernel_params row;
    bm_kernel_tune_score score; /* 0: it cannot be used, */
    char why[160];              /* because */
} bm_kernel_tune_tried;

typedef struct bm_kernel_tune_result {
    bm_device_info info;
    bm_kernel_params present, best;   /* best is named after the device */
    bm_kernel_tune_score before, now; /* of the two, in turns, at the end */
    bool better;                      /* else `best` has the numbers of `present` */
    bm_kernel_tune_tried *tried;
    size_t n_tried, cap_tried, n_failed;
    size_t n_hashes;
} bm_kernel_tune_result;

typedef struct bm_kernel_tune_report {
    const bm_kernel_tune_options *options; /* as used */
    const bm_kernel_tune_result *results;  /* n, one a device */
    size_t n;
} bm_kernel_tune_report;

/* The rows as a file of kernel parameters, and all that was measured as one JSON object: the
 * caller's (bm_string_free). Either may be NULL. */
bm_status bm_kernel_tune_write(const bm_kernel_tune_report *report, char **csv, char **json,
                               bm_error *err);

/* kernel_tune_report -- the rows that were found, as CSV for a file and as JSON with all that was
 * tried. */

static bm_status detach_text(bm_buf *buf, char **out, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_buf_end(buf, err));
    BM_TRY_OUT(bm_copy_text(buf->data, out, err));
out:
    bm_buf_reset(buf);
    return status;
}

static bm_status write_csv(const bm_kernel_tune_report *report, char **csv, bm_error *err)
{
    char text[BM_KERNEL_PARAMS_TEXT];
    bm_buf out = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_buf_add_format(&out, err, "%s\n", bm_kernel_params_header));
    for (size_t i = 0; i < report->n; i++) {
        const bm_kernel_tune_result *r = &report->results[i];
        bm_kernel_params_format(&r->best, text);
        BM_TRY_OUT(bm_buf_add_format(
            &out, err,
            "# driver %s, %u permutations: %.1f M shingles/s in the kernels, %.1f from the host; "
            "%.3f and %.3f of the row before\n%s\n",
            r->info.driver, report->options->sketch.perms, r->now.kernel, r->now.host,
            r->now.kernel / r->before.kernel, r->now.host / r->before.host, text));
    }
    return detach_text(&out, csv, err);
out:
    bm_buf_reset(&out);
    return status;
}

static void write_row(bm_json *json, const char *key, const bm_kernel_params *row)
{
    char text[BM_KERNEL_PARAMS_TEXT];
    bm_kernel_params_format(row, text);
    bm_json_key_text(json, key, text);
}

static void write_score(bm_json *json, const bm_kernel_tune_score *score)
{
    bm_json_key_double(json, "kernel_mshingles_s", score->kernel);
    bm_json_key_double(json, "host_mshingles_s", score->host);
}

static void write_result(bm_json *json, const bm_kernel_tune_result *r)
{
    bm_json_begin_object(json);
    bm_json_key_text(json, "device", r->info.spec);
    bm_json_key_text(json, "name", r->info.name);
    bm_json_key_text(json, "platform", r->info.platform);
    bm_json_key_text(json, "driver", r->info.driver);
    bm_json_key_uint(json, "compute_units", r->info.compute_units);
    bm_json_key_uint(json, "hashes", r->n_hashes);
    bm_json_key_bool(json, "better", r->better);
    bm_json_key_object(json, "present");
    write_row(json, "row", &r->present);
    write_score(json, &r->before);
    bm_json_end_object(json);
    bm_json_key_object(json, "tuned");
    write_row(json, "row", &r->best);
    write_score(json, &r->now);
    bm_json_key_double(json, "kernel_ratio", r->now.kernel / r->before.kernel);
    bm_json_key_double(json, "host_ratio", r->now.host / r->before.host);
    bm_json_end_object(json);
    bm_json_key_array(json, "tried");
    for (size_t i = 0; i < r->n_tried; i++) {
        bm_json_begin_object(json);
        write_row(json, "row", &r->tried[i].row);
        if (r->tried[i].score.kernel > 0)
            write_score(json, &r->tried[i].score);
        else
            bm_json_key_text(json, "left_out", r->tried[i].why);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_end_object(json);
}

static bm_status write_json(const bm_kernel_tune_report *report, char **text, bm_error *err)
{
    const bm_kernel_tune_options *options = report->options;
    const bm_version_info *version = bm_version();
    bm_json json = {.pretty = true};
    bm_json_begin_object(&json);
    bm_json_key_uint(&json, "schema", 1);
    bm_json_key_text(&json, "version", version->version);
    bm_json_key_text(&json, "kernels", version->kernels);
    bm_json_key_uint(&json, "perms", options->sketch.perms);
    bm_json_key_uint(&json, "repeats", options->repeats);
    bm_json_key_double(&json, "min_seconds", options->min_seconds);
    bm_json_key_array(&json, "devices");
    for (size_t i = 0; i < report->n; i++)
        write_result(&json, &report->results[i]);
    bm_json_end_array(&json);
    bm_json_end_object(&json);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_finish(&json, err));
    return detach_text(&json.buf, text, err);
out:
    bm_buf_reset(&json.buf);
    return status;
}

bm_status bm_kernel_tune_write(const bm_kernel_tune_report *report, char **csv, char **json,
                               bm_error *err)
{
    char *csv_text = NULL, *json_text = NULL;
    bm_status status = BM_OK;
    if (csv != NULL)
        BM_TRY_OUT(write_csv(report, &csv_text, err));
    if (json != NULL)
        BM_TRY_OUT(write_json(report, &json_text, err));
out:
    if (status != BM_OK) {
        bm_free(csv_text);
        return status;
    }
    if (csv != NULL)
        *csv = csv_text;
    if (json != NULL)
        *json = json_text;
    return BM_OK;
}

#define PROBE_SECONDS 60.0
#define MOST_SECONDS  300.0 /* of a device: the row under way then is the last */
#define TURNS_SECONDS 60.0  /* of the best and the present row in turns */
#define SLOW          0.7   /* of the best in its first run: not measured further */
#define MIN_HASHES    ((size_t)1 << 20)
#define MAX_HASHES    ((size_t)1 << 25)
#define MAX_REPEATS   100u
#define EFFECT_TEXT   160u

typedef struct tuner {
    const bm_kernel_tune_options *options; /* defaults filled in */
    bm_meter *meter;
    char cache[BM_BENCH_FOLDER_BYTES];
    bm_kernel_tune_corpus corpus;
    bm_backend *present;
    char (*effects)[EFFECT_TEXT]; /* what the rows that were tried came to */
    size_t n_effects, cap_effects;
    bm_kernel_tune_result *result;
    uint64_t steps, steps_done;
    double until; /* by bm_clock_seconds */
} tuner;

/* `row` NULL: with the parameters that it has now. */
static bm_status open_with(tuner *t, const bm_kernel_params *row, bm_backend **out, bm_error *err)
{
    char text[BM_KERNEL_PARAMS_TEXT];
    bm_device_settings settings = bm_device_settings_of(&t->options->device);
    settings.probe_seconds = PROBE_SECONDS;
    settings.profile = true;
    if (row != NULL) {
        bm_kernel_params_format(row, text);
        settings.kernel_params = text;
    }
    const bm_callbacks *calls = &t->options->callbacks;
    const bm_callbacks stop = {.ctx = calls->ctx, .cancelled = calls->cancelled};
    const bm_backend_cfg cfg = {.sketch = t->options->sketch,
                                .device = t->result->info.spec,
                                .cache_dir = t->cache,
                                .callbacks = &stop,
                                .settings = &settings};
    return bm_cl_backend_open(&cfg, &(bm_cl_open_options){0}, out, err);
}

static double median(double *values, uint32_t n)
{
    qsort(values, n, sizeof *values, bm_order_double);
    return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The median of the runs. `best`: a row that is far behind in its first run has no others. */
static bm_status measure(tuner *t, bm_backend *backend, const bm_kernel_tune_score *best,
                         bm_kernel_tune_score *score, bm_error *err)
{
    double kernel[MAX_REPEATS], host[MAX_REPEATS];
    uint32_t n = 0;
    while (n < t->options->repeats && n < MAX_REPEATS) {
        bm_kernel_tune_score run;
        BM_TRY(bm_meter_check(t->meter, err));
        BM_TRY(bm_kernel_tune_run(&t->corpus, backend, t->options->min_seconds, &run, err));
        kernel[n] = run.kernel;
        host[n++] = run.host;
        if ((n == 1 && best != NULL && run.kernel < best->kernel * SLOW &&
             run.host < best->host * SLOW) ||
            bm_clock_seconds() > t->until)
            break;
    }
    *score = (bm_kernel_tune_score){median(kernel, n), median(host, n)};
    return BM_OK;
}

/* Known beforehand to end the process: Intel's compiler for CPUs (2026.2) on the longest loops. */
static bool is_known_bad(const bm_device_info *info, const bm_kernel_params *row)
{
    return info->kind == BM_DEVICE_CL_CPU && strstr(info->platform, "Intel") != NULL &&
           strcmp(row->shape, "gpu") == 0 &&
           row->number[BM_CL_EACH] * row->number[BM_CL_UNROLL] >= 32;
}

/* True: no row that was tried came to the same. Remembers it. */
static bm_status is_new(tuner *t, const bm_kernel_params *row, bool *out, bm_error *err)
{
    char effect[EFFECT_TEXT];
    BM_TRY(bm_cl_backend_effect(t->present, row, effect, sizeof effect, err));
    for (size_t i = 0; i < t->n_effects; i++)
        if (strcmp(t->effects[i], effect) == 0) {
            *out = false;
            return BM_OK;
        }
    BM_TRY(bm_grow_array(&t->effects, &t->cap_effects, t->n_effects + 1, err));
    memcpy(t->effects[t->n_effects++], effect, sizeof effect);
    *out = true;
    return BM_OK;
}

static bm_status note_tried(tuner *t, const bm_kernel_params *row,
                            const bm_kernel_tune_score *score, const char *why, bm_error *err)
{
    char text[BM_KERNEL_PARAMS_TEXT];
    bm_kernel_tune_result *r = t->result;
    BM_TRY(bm_grow_array(&r->tried, &r->cap_tried, r->n_tried + 1, err));
    bm_kernel_tune_tried *last = &r->tried[r->n_tried++];
    *last = (bm_kernel_tune_tried){.row = *row, .score = *score};
    snprintf(last->why, sizeof last->why, "%.150s", why);
    bm_kernel_params_format(row, text);
    r->n_failed += score->kernel <= 0;
    if (score->kernel > 0)
        bm_meter_log(t->meter, BM_LOG_DEBUG, "%s: %s: %.1f M shingles/s, %.1f from the host",
                     r->info.spec, text, score->kernel, score->host);
    else
        bm_meter_log(t->meter, BM_LOG_DEBUG, "%s: %s: left out: %s", r->info.spec, text, why);
    return BM_OK;
}

/* Does the failure end the tuning, and is not the row's fault? */
static bool is_final(bm_status status, const bm_error *why)
{
    return status == BM_ERR_CANCELLED || status == BM_ERR_INTERNAL ||
           (status == BM_ERR_NOMEM && why->code == 0);
}

static bm_status try_row(void *ctx, const bm_kernel_params *row, const bm_kernel_tune_score *best,
                         bm_kernel_tune_score *score, bm_error *err)
{
    tuner *t = ctx;
    bm_error why = {0};
    bm_backend *backend = NULL;
    bool is_other = true;
    *score = (bm_kernel_tune_score){0};
    bm_meter_progress(t->meter, ++t->steps_done, t->steps, 0);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_meter_check(t->meter, &why));
    BM_TRY_OUT(is_new(t, row, &is_other, &why));
    if (!is_other)
        return BM_OK;
    if (is_known_bad(&t->result->info, row))
        BM_TRY_OUT(bm_fail(&why, BM_ERR_DEVICE, "its compiler is known to fail on such loops"));
    BM_TRY_OUT(open_with(t, row, &backend, &why));
    BM_TRY_OUT(bm_kernel_tune_check(&t->corpus, backend, &why));
    status = measure(t, backend, best, score, &why);
out:
    bm_backend_close(backend);
    if (status != BM_OK && is_final(status, &why)) {
        if (err != NULL)
            *err = why;
        return status;
    }
    if (status != BM_OK)
        *score = (bm_kernel_tune_score){0};
    return note_tried(t, row, score, why.message, err);
}

/* The best and the present row in turns: what is quoted, and whether the best is better. */
static bm_status compare(tuner *t, bm_error *err)
{
    bm_kernel_tune_result *r = t->result;
    double rates[4][MAX_REPEATS];
    const double until = bm_clock_seconds() + TURNS_SECONDS;
    bm_backend *best = NULL;
    uint32_t n = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_with(t, &r->best, &best, err));
    BM_TRY_OUT(bm_kernel_tune_check(&t->corpus, best, err));
    while (n < t->options->repeats && n < MAX_REPEATS && (n == 0 || bm_clock_seconds() < until)) {
        bm_kernel_tune_score before, now;
        BM_TRY_OUT(bm_meter_check(t->meter, err));
        BM_TRY_OUT(
            bm_kernel_tune_run(&t->corpus, t->present, t->options->min_seconds, &before, err));
        BM_TRY_OUT(bm_kernel_tune_run(&t->corpus, best, t->options->min_seconds, &now, err));
        rates[0][n] = before.kernel;
        rates[1][n] = before.host;
        rates[2][n] = now.kernel;
        rates[3][n++] = now.host;
    }
    r->before = (bm_kernel_tune_score){median(rates[0], n), median(rates[1], n)};
    r->now = (bm_kernel_tune_score){median(rates[2], n), median(rates[3], n)};
out:
    bm_backend_close(best);
    return status;
}

/* One of the two rates is better, and neither is worse. */
static bool is_better(const bm_kernel_tune_result *r)
{
    const double kernel = r->now.kernel / r->before.kernel, host = r->now.host / r->before.host;
    return (kernel > BM_KERNEL_TUNE_MARGIN || host > BM_KERNEL_TUNE_MARGIN) && kernel > .98 &&
           host > .98;
}

static bm_status search(tuner *t, bm_error *err)
{
    bm_kernel_tune_result *r = t->result;
    const bm_kernel_tune_trial trial = {t, try_row, t->until};
    bm_kernel_tune_score score;
    bool is_other;
    BM_TRY(bm_kernel_tune_check(&t->corpus, t->present, err));
    BM_TRY(is_new(t, &r->present, &is_other, err));
    BM_TRY(measure(t, t->present, NULL, &score, err));
    r->best = r->present;
    r->before = r->now = score;
    t->steps = bm_kernel_tune_round(&r->present) * 2;
    BM_TRY(bm_kernel_tune_search(&trial, &r->best, &score, err));
    if (bm_clock_seconds() > t->until)
        bm_meter_log(t->meter, BM_LOG_WARNING,
                     "%s: the search took its %.0f s, and other rows may be left", r->info.spec,
                     MOST_SECONDS);
    if (memcmp(&r->best, &r->present, sizeof r->best) != 0) {
        BM_TRY(compare(t, err));
        r->better = is_better(r);
        if (!r->better) {
            r->best = r->present;
            r->now = r->before;
        }
    }
    bm_kernel_params_name(&r->best, &r->info);
    return BM_OK;
}

static void log_result(tuner *t)
{
    const bm_kernel_tune_result *r = t->result;
    if (r->better)
        bm_meter_log(t->meter, BM_LOG_INFO,
                     "%s: %zu rows tried, %zu left out; the best: %.1f M shingles/s in the "
                     "kernels, %.3f of the present row; %.1f from the host, %.3f",
                     r->info.spec, r->n_tried, r->n_failed, r->now.kernel,
                     r->now.kernel / r->before.kernel, r->now.host, r->now.host / r->before.host);
    else
        bm_meter_log(t->meter, BM_LOG_INFO,
                     "%s: %zu rows tried, %zu left out; none is better than the present one: %.1f "
                     "M shingles/s in the kernels, %.1f from the host",
                     r->info.spec, r->n_tried, r->n_failed, r->now.kernel, r->now.host);
}

static bm_status tune_device(tuner *t, bm_error *err)
{
    bm_meter_stage(t->meter, "tune", "rows");
    t->until = bm_clock_seconds() + MOST_SECONDS;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_with(t, NULL, &t->present, err));
    size_t n = t->present->batch_hashes * 4;
    n = n < MIN_HASHES ? MIN_HASHES : n > MAX_HASHES ? MAX_HASHES : n;
    t->result->present = *bm_cl_backend_kernel_params(t->present);
    BM_TRY_OUT(bm_kernel_tune_corpus_open(t->options, n, &t->corpus, err));
    t->result->n_hashes = bm_shingle_batch_hashes(&t->corpus.batch);
    BM_TRY_OUT(search(t, err));
    log_result(t);
out:
    bm_backend_close(t->present);
    bm_kernel_tune_corpus_reset(&t->corpus);
    bm_free(t->effects);
    return status;
}

/* --- all devices --- */

/* The OpenCL devices of the list; those that cannot be tuned are an error. */
static bm_status pick_devices(const bm_kernel_tune_options *options, bm_device_pick *pick,
                              bm_error *err)
{
    BM_TRY(options->device.device != NULL
               ? bm_device_pick_open(&options->device, &options->callbacks, pick, err)
               : bm_device_pick_list(&options->device, &options->callbacks, pick, err));
    size_t n = 0;
    for (size_t i = 0; i < pick->n; i++)
        if (pick->devices[i].kind != BM_DEVICE_NATIVE && pick->devices[i].usable)
            pick->devices[n++] = pick->devices[i];
    pick->n = n;
    if (n == 0)
        return bm_fail(err, BM_ERR_DEVICE,
                       "no OpenCL device to tune (the native CPU has no parameters; %s)",
                       pick->broken ? pick->why : "`bandmill devices` lists the devices");
    return BM_OK;
}

static bm_status tune_all(const bm_kernel_tune_options *options, bm_meter *meter,
                          const bm_device_pick *pick, bm_kernel_tune_result *results, bm_error *err)
{
    char cache[BM_BENCH_FOLDER_BYTES]; /* of programs */
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_bench_folder_make("tune", cache, err));
    for (size_t i = 0; i < pick->n; i++) {
        tuner t = {.options = options, .meter = meter, .result = &results[i]};
        results[i].info = pick->devices[i];
        memcpy(t.cache, cache, sizeof cache);
        BM_TRY_OUT(tune_device(&t, err));
    }
out:
    bm_bench_folder_clear(cache);
    return status;
}

bm_status bm_kernel_tune(const bm_kernel_tune_options *options, char **csv, char **json,
                         bm_error *err)
{
    bm_kernel_tune_options used = *options;
    bm_device_pick pick = {0};
    bm_kernel_tune_result *results = NULL;
    bm_meter meter;
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.sketch = &used.sketch,
                                                    .device = &used.device,
                                                    .callbacks = &used.callbacks},
                                 err));
    BM_TRY(bm_scheme_weights_check(&used.sketch, false, err));
    if (used.sketch.scheme == BM_SCHEME_OPH)
        return bm_fail_field(err, "scheme",
                             "oph is not tuned for (a row of kernel parameters serves all schemes, "
                             "and the kernels of oph are others)");
    used.sketch.perms = used.sketch.perms != 0 ? used.sketch.perms : BM_PERMS_DEFAULT;
    used.repeats = used.repeats > 0 ? used.repeats : 5;
    used.min_seconds = used.min_seconds > 0 ? used.min_seconds : .2;
    if (used.repeats > MAX_REPEATS || !(used.min_seconds <= 3600))
        return bm_fail(err, BM_ERR_USAGE, "%u repeats of %g seconds (at most %u of 3600)",
                       used.repeats, used.min_seconds, MAX_REPEATS);
    bm_meter_init(&meter, &options->callbacks);
    bm_status status = BM_OK;
    BM_TRY_OUT(pick_devices(&used, &pick, err));
    BM_TRY_OUT(bm_new_zero(&results, pick.n, err));
    BM_TRY_OUT(tune_all(&used, &meter, &pick, results, err));
    status = bm_kernel_tune_write(&(bm_kernel_tune_report){&used, results, pick.n}, csv, json, err);
out:
    for (size_t i = 0; results != NULL && i < pick.n; i++)
        bm_free(results[i].tried);
    bm_free(results);
    bm_device_pick_reset(&pick);
    bm_meter_reset(&meter);
    return status;
}
