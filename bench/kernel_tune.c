/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_tune.c -- search for a better row of kernel parameters for each chosen OpenCL device.
 *
 *     kernel_tune [--device LIST] [--perms K] [--repeats N] [--min-seconds T] [--seconds T]
 *                 [--probe PROGRAM] [--json] [--verbose]
 *
 *     --device LIST     as bandmill takes it (all usable OpenCL devices)
 *     --perms K         permutations (128)
 *     --repeats N       measure a row N times, use the median (5)
 *     --min-seconds T   measure for at least T seconds (0.2)
 *     --seconds T       no row is begun after T seconds on a device (300); 0: the present row is
 *                       measured, and no other
 *     --probe PROGRAM   the bandmill that tries each row first, in a process of its own (the one in
 *                       the folder above this program; "": none)
 *     --json            one object with all rows that were tried, instead of CSV
 *     --verbose         each row that is tried, on stderr
 *
 * Stdout has the rows that were found, as a file that $BANDMILL_TUNING may name, or the object. The
 * variables of docs/opencl.md count here too. Exit codes: 0; 2 usage; 5 no such device, or one that
 * fails with its present row; 130 and 143 on a signal.
 *
 *     open with the present row | made documents, their right words
 *     for each row of the search:
 *         its effect on this device, unless a row with the same effect was tried | open (a trial
 *         run builds it in a process of its own) | every word compared | runs
 *     the best and the present row in turns
 *
 * Compiled programs go to a cache of its own, which is removed at the end: rows that lose leave
 * nothing behind. A row that does not build, computes wrong words, or has a trial run that dies or
 * takes more than a minute is left out, with the reason. If the search finds nothing that holds in
 * the comparison at the end, the result is the present row, under the name of the device.
 *
 * Tests: tests/box/test_kernel_tune.sh */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bandmill/version.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/meter.h"
#include "base/orders.h"
#include "bench/bench_answer.h"
#include "cli/environment.h"
#include "cli/interrupt.h"
#include "devices/device_set.h"
#include "json/json_write.h"
#include "kernel_tune_search.h"
#include "opencl/cl_backend.h"
#include "sketch/scheme.h"

/* A row that was tried. */
typedef struct bm_kernel_tune_tried {
    bm_kernel_params row;
    bm_kernel_tune_score score; /* 0: the row cannot be used */
    char why[160];              /* the reason */
} bm_kernel_tune_tried;

typedef struct bm_kernel_tune_result {
    bm_device_info info;
    bm_kernel_params present, best;   /* best is named after the device */
    bm_kernel_tune_score before, now; /* of present and best, run in turns at the end */
    bool better;                      /* false: `best` has the numbers of `present` */
    bm_kernel_tune_tried *tried;
    size_t n_tried, cap_tried, n_failed;
    size_t n_hashes;
} bm_kernel_tune_result;

typedef struct bm_kernel_tune_report {
    const bm_kernel_tune_options *options; /* as used */
    const bm_kernel_tune_result *results;  /* n results, one per device */
    size_t n;
} bm_kernel_tune_report;

/* --- the report: rows as CSV for a file, or all that was tried as JSON --- */

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

/* --- the search on one device --- */

#define PROBE_SECONDS 60.0
#define TURNS_SECONDS 60.0 /* for running the best and the present row in turns */
/* a row below this share of the best in its first run is not measured further */
#define SLOW        0.7
#define MIN_HASHES  ((size_t)1 << 20)
#define MAX_HASHES  ((size_t)1 << 25)
#define MAX_REPEATS 100u
#define EFFECT_TEXT 160u

typedef struct tuner {
    const bm_kernel_tune_options *options; /* defaults filled in */
    bm_meter *meter;
    char cache[BM_BENCH_FOLDER_BYTES];
    bm_kernel_tune_corpus corpus;
    bm_backend *present;
    char (*effects)[EFFECT_TEXT]; /* the effect of each row that was tried */
    size_t n_effects, cap_effects;
    bm_kernel_tune_result *result;
    uint64_t steps, steps_done;
    double until; /* by bm_clock_seconds */
} tuner;

/* `row` NULL: opens with the present parameters. */
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

/* The median of the runs. A row far behind `best` in its first run is not run again. */
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

/* Rows known to crash the process: Intel's compiler for CPUs (2026.2) on the longest loops. */
static bool is_known_bad(const bm_device_info *info, const bm_kernel_params *row)
{
    return info->kind == BM_DEVICE_CL_CPU && strstr(info->platform, "Intel") != NULL &&
           strcmp(row->shape, "gpu") == 0 &&
           row->number[BM_CL_EACH] * row->number[BM_CL_UNROLL] >= 32;
}

/* True: no row tried so far had the same effect. Remembers the effect. */
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

/* Does the failure end the tuning, rather than being the row's fault? */
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

/* Runs the best and the present row in turns: gives the reported rates, and whether the best is
 * better. */
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

/* Better: one of the two rates is better, and neither is worse. */
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
    if (t->options->seconds > 0 && bm_clock_seconds() > t->until)
        bm_meter_log(t->meter, BM_LOG_WARNING,
                     "%s: the search took its %.0f s, and other rows may be left", r->info.spec,
                     t->options->seconds);
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
    t->until = bm_clock_seconds() + t->options->seconds;
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

/* The OpenCL devices of the list; a device that cannot be tuned is an error. */
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
    char cache[BM_BENCH_FOLDER_BYTES]; /* of compiled programs */
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

/* Writes the rows that were found, or everything that was tried, to stdout. */
static bm_status tune(const bm_kernel_tune_options *options, bool as_json, bm_error *err)
{
    bm_device_pick pick = {0};
    bm_kernel_tune_result *results = NULL;
    char *text = NULL;
    bm_meter meter;
    bm_meter_init(&meter, &options->callbacks);
    bm_status status = BM_OK;
    BM_TRY_OUT(pick_devices(options, &pick, err));
    BM_TRY_OUT(bm_new_zero(&results, pick.n, err));
    BM_TRY_OUT(tune_all(options, &meter, &pick, results, err));
    const bm_kernel_tune_report report = {options, results, pick.n};
    BM_TRY_OUT(as_json ? write_json(&report, &text, err) : write_csv(&report, &text, err));
    if (fputs(text, stdout) == EOF || fflush(stdout) != 0)
        status = bm_fail(err, BM_ERR_IO, "cannot write to stdout");
out:
    for (size_t i = 0; results != NULL && i < pick.n; i++)
        bm_free(results[i].tried);
    bm_free_all(results, text);
    bm_device_pick_reset(&pick);
    bm_meter_reset(&meter);
    return status;
}

/* --- the command line --- */

typedef struct arguments {
    bm_kernel_tune_options options;
    bool json, verbose;
} arguments;

static void log_line(void *ctx, bm_log_level level, const char *message)
{
    const arguments *a = ctx;
    if (level == BM_LOG_WARNING || a->verbose)
        fprintf(stderr, "kernel_tune: %s%s\n", level == BM_LOG_WARNING ? "warning: " : "", message);
}

static bool is_cancelled(void *ctx)
{
    (void)ctx;
    return cli_interrupted();
}

/* Reads a number from `least` to `most`. */
static bool read_number(const char *text, double least, double most, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= least && *out <= most;
}

static const struct option names[] = {{"device", required_argument, NULL, 'd'},
                                      {"perms", required_argument, NULL, 'p'},
                                      {"repeats", required_argument, NULL, 'r'},
                                      {"min-seconds", required_argument, NULL, 'm'},
                                      {"seconds", required_argument, NULL, 's'},
                                      {"probe", required_argument, NULL, 'P'},
                                      {"json", no_argument, NULL, 'j'},
                                      {"verbose", no_argument, NULL, 'v'},
                                      {NULL, 0, NULL, 0}};

/* False: the command line is wrong, with a line on stderr. */
static bool read_arguments(int argc, char **argv, arguments *a)
{
    bm_kernel_tune_options *o = &a->options;
    double number = 0;
    int letter, at = 0;
    while ((letter = getopt_long(argc, argv, "v", names, &at)) != -1) {
        bool good = true;
        switch (letter) {
        case 'd':
            o->device.device = optarg;
            break;
        case 'p':
            good = read_number(optarg, 1, BM_PERMS_MAX, &number);
            o->sketch.perms = good ? (uint32_t)number : 0;
            break;
        case 'r':
            good = read_number(optarg, 1, MAX_REPEATS, &number);
            o->repeats = good ? (uint32_t)number : 0;
            break;
        case 'm':
            good = read_number(optarg, .0001, 3600, &o->min_seconds);
            break;
        case 's':
            good = read_number(optarg, 0, 1e6, &o->seconds);
            break;
        case 'P':
            o->device.probe_program = optarg;
            break;
        case 'j':
            a->json = true;
            break;
        case 'v':
            a->verbose = true;
            break;
        default:
            return false;
        }
        if (!good) {
            fprintf(stderr, "kernel_tune: --%s: %s (expected a number within its bounds)\n",
                    names[at].name, optarg);
            return false;
        }
    }
    if (optind < argc)
        fprintf(stderr, "kernel_tune: %s (no inputs are expected: documents are made)\n",
                argv[optind]);
    return optind == argc;
}

/* The path of bandmill in the build of this program; NULL: it does not exist. */
static const char *find_probe(char path[BM_BENCH_FOLDER_BYTES])
{
    const ssize_t len = readlink("/proc/self/exe", path, BM_BENCH_FOLDER_BYTES - 1);
    for (int up = 0; len > 0 && up < 2; up++) {
        path[up == 0 ? (size_t)len : strlen(path)] = '\0';
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return NULL;
        *slash = '\0';
    }
    const size_t end = len > 0 ? strlen(path) : 0;
    if (len <= 0 || end + sizeof "/bandmill" > BM_BENCH_FOLDER_BYTES)
        return NULL;
    memcpy(path + end, "/bandmill", sizeof "/bandmill");
    return access(path, X_OK) == 0 ? path : NULL;
}

int main(int argc, char **argv)
{
    static char probe[BM_BENCH_FOLDER_BYTES];
    arguments a = {.options = {.repeats = 5, .min_seconds = .2, .seconds = 300}};
    bm_error err = {0};
    a.options.sketch.perms = BM_PERMS_DEFAULT;
    a.options.sketch.seed = 1;
    cli_environment_device(&a.options.device);
    a.options.device.device = NULL; /* all devices, not a job's default */
    if (!read_arguments(argc, argv, &a))
        return bm_status_exit_code(BM_ERR_USAGE);
    if (a.options.device.probe_program == NULL &&
        (a.options.device.probe_program = find_probe(probe)) == NULL) {
        fprintf(stderr,
                "kernel_tune: no bandmill in the folder above (name one with --probe PROGRAM; "
                "--probe '' tries rows in this process)\n");
        return bm_status_exit_code(BM_ERR_USAGE);
    }
    cli_catch_signals();
    a.options.callbacks = (bm_callbacks){.ctx = &a, .log = log_line, .cancelled = is_cancelled};
    const bm_status status = tune(&a.options, a.json, &err);
    if (status != BM_OK)
        fprintf(stderr, "kernel_tune: %s\n", err.message);
    return status == BM_ERR_CANCELLED ? 128 + cli_stop_signal() : bm_status_exit_code(status);
}
