/* SPDX-License-Identifier: Apache-2.0 */
/* bench_run.c -- chooses the measurements of each device, and makes the rows.
 *
 *     each          arithmetic limit       of its own processors: bench_work.h
 *     native CPU    resident hashes        prepared batches through the backend
 *     OpenCL        resident hashes        the kernel alone, by the device's clock
 *                   hashes from the host   the same batches by the wall clock: copies, launches
 *                   upload, read-back      plain copies over the link
 *     each          text word:5, char:5    text in memory to words in memory
 *     native CPU    text byte:8; plain     likewise; no normaliser, words between white space;
 *                   and foreign word:5     made text that is not ASCII
 *                   text stopword:4; bag   shingles as long as word:5 in both
 *     each          documents of N         resident hashes by each scheme, over the first one
 *
 * A ratio compares the shingles of a row with the arithmetic limit of the same device, on as many
 * processors. The resident hashes and their limit are measured alternately. A GPU's limit is
 * computed; if that is not possible, its rows have no ratio. Each row has its threads and compute
 * units. If no devices are given, every usable device is measured, and a failure is only a warning.
 * A given device must work. */
#include <bandmill/device.h>
#include <bandmill/version.h>
#include <bandmill/option_names.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/meter.h"
#include "base/system.h"
#include "base/threads.h"
#include "bench/bench.h"
#include "bench/bench_answer.h"
#include "bench/bench_work.h"
#include "devices/device_set.h"
#include "json/json_write.h"
#include "model/option_check.h"
#include "model/scheme_facts.h"
#include "opencl/cl_link_rate.h"
#include "sketch/scheme.h"

/* bench_report -- writes the figures as JSON, together with machine, devices and settings, so that
 * no figure is seen without its machine. */

typedef struct bm_bench_report {
    const bm_bench_options *options; /* with defaults filled in */
    const bm_device_info *devices;
    size_t n_devices;
    const bm_bench_row *rows;
    size_t n_rows;
    const bm_bench_job *jobs;
    size_t n_jobs;
    const bm_bench_rates *rates; /* rates of each device and of the disk */
    size_t text_bytes, text_docs;
    bool text_made;
} bm_bench_report;

static void write_machine(bm_json *json, const bm_bench_options *options)
{
    char name[128], isa_text[16] = "";
    bm_isa isa;
    bm_cpu_name(name, sizeof name);
    if (bm_isa_choose(options->device.cpu, &isa, NULL) == BM_OK)
        snprintf(isa_text, sizeof isa_text, "%s", bm_isa_name(isa));
    struct utsname system;
    bm_json_key_object(json, "machine");
    bm_json_key_text(json, "processor", name);
    bm_json_key_uint(json, "processors", bm_cpu_count());
    bm_json_key_text(json, "instruction_set", isa_text);
    if (uname(&system) == 0) {
        char text[sizeof system.sysname + sizeof system.release + 2];
        snprintf(text, sizeof text, "%s %s", system.sysname, system.release);
        bm_json_key_text(json, "system", text);
        bm_json_key_text(json, "architecture", system.machine);
    }
    bm_json_end_object(json);
}

static void write_settings(bm_json *json, const bm_bench_report *report)
{
    const bm_bench_options *options = report->options;
    bm_json_key_object(json, "settings");
    bm_json_key_uint(json, "threads", options->threads);
    bm_json_key_text(json, "scheme", bm_option_name(BM_OPTION_SCHEME, options->sketch.scheme));
    bm_json_key_uint(json, "perms", options->sketch.perms);
    bm_json_key_uint(json, "seed", options->sketch.seed);
    bm_json_key_uint(json, "repeats", options->repeats);
    bm_json_key_double(json, "min_seconds", options->min_seconds);
    bm_json_key_double(json, "seconds", options->seconds);
    bm_json_key_double(json, "price", options->price);
    bm_json_key_double(json, "watts", options->watts);
    bm_json_key_text(json, "words", bm_option_name(BM_OPTION_WORDS, options->text.words));
    bm_json_key_uint(json, "normalize_bits", options->text.normalize);
    bm_json_key_text(json, "text", report->text_made ? "made" : "documents");
    bm_json_key_uint(json, "text_bytes", report->text_bytes);
    bm_json_key_uint(json, "text_documents", report->text_docs);
    bm_json_end_object(json);
}

static void write_devices(bm_json *json, const bm_bench_report *report)
{
    bm_json_key_array(json, "devices");
    for (size_t i = 0; i < report->n_devices; i++) {
        const bm_device_info *device = &report->devices[i];
        bm_json_begin_object(json);
        bm_json_key_text(json, "device", device->spec);
        bm_json_key_text(json, "name", device->name);
        bm_json_key_text(json, "platform", device->platform);
        bm_json_key_text(json, "driver", device->driver);
        bm_json_key_uint(json, "compute_units", device->compute_units);
        bm_json_key_uint(json, "memory_bytes", device->memory_bytes);
        const bm_bench_rates *rates = &report->rates[i];
        bm_json_key_double(json, "mshingles_s", rates->mshingles_s);
        bm_json_key_double(json, "up_mb_s", rates->up_mb_s);
        bm_json_key_double(json, "down_mb_s", rates->down_mb_s);
        bm_json_key_double(json, "disk_read_mb_s", rates->read_mb_s);
        bm_json_key_double(json, "disk_write_mb_s", rates->write_mb_s);
        bm_json_key_uint(json, "host_cores", rates->cores);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void write_rows(bm_json *json, const bm_bench_report *report)
{
    bm_json_key_array(json, "rows");
    for (size_t i = 0; i < report->n_rows; i++) {
        const bm_bench_row *row = &report->rows[i];
        bm_json_begin_object(json);
        bm_json_key_text(json, "device", row->device);
        bm_json_key_text(json, "what", row->what);
        bm_json_key_text(json, "unit", row->unit);
        bm_json_key_uint(json, "threads", row->threads);
        bm_json_key_uint(json, "compute_units", row->compute_units);
        bm_json_key_double(json, "median", row->median);
        bm_json_key_double(json, "min", row->min);
        bm_json_key_double(json, "max", row->max);
        if (row->ratio > 0) {
            bm_json_key_double(json, "ratio", row->ratio);
            bm_json_key_text(json, "ratio_to", row->ratio_to);
        }
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* Write one object and a newline. The caller frees *json with bm_string_free. */
static bm_status bench_report_write(const bm_bench_report *report, char **json, bm_error *err)
{
    const bm_version_info *version = bm_version();
    bm_json out = {.pretty = true};
    bm_json_begin_object(&out);
    bm_json_key_uint(&out, "schema", 1);
    bm_json_key_text(&out, "version", version->version);
    bm_json_key_text(&out, "compiler", version->compiler);
    bm_json_key_text(&out, "kernels", version->kernels);
    write_machine(&out, report->options);
    write_settings(&out, report);
    write_devices(&out, report);
    bm_bench_answer_json(&out, report->jobs, report->n_jobs);
    write_rows(&out, report);
    bm_json_end_object(&out);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_finish(&out, err));
    *json = bm_strdup(out.buf.data);
    if (*json == NULL)
        status = bm_fail_nomem(err, out.buf.len);
out:
    bm_buf_reset(&out.buf);
    return status;
}

#define LINK_BYTES     ((size_t)64 << 20)
#define LINK_SECONDS   120.0 /* most seconds that the copies may take */
#define MEASURED_LIMIT "arithmetic limit"
#define RESIDENT       "resident hashes"
#define UPLOAD         "upload"
#define READ_BACK      "read-back"
#define ROWS_SHARE     .5 /* share of the time for rows; the rest is for jobs */
#define COMPUTED_LIMIT "arithmetic limit, computed"
#define LONG_DOC       3000u /* shingles, as many as in a long article or chapter */

typedef struct bench {
    bm_bench_options options; /* with defaults filled in */
    bm_callbacks callbacks;
    bm_meter meter;
    bm_pool *pool;
    bm_bench_text text, foreign;
    bm_device_pick pick;
    double min_seconds; /* least seconds of a run; less than asked for if the total time is
                           limited */
    double limit;       /* limit of the current device, M shingles/s; 0: unknown */
    const char *limit_name;
    bm_bench_row *rows;
    size_t n_rows, cap_rows;
    uint64_t steps_done, steps;
    bm_bench_rates *rates; /* one for each device */
    double begin;
    uint64_t left_out; /* rows that were left out, because there was no time for them */
} bench;

/* Add a row with the device's names; the caller fills in the figures. */
static bm_bench_row *add_row(bench *b, const bm_device_info *info, const char *what,
                             const char *unit, bm_error *err)
{
    if (bm_grow_array(&b->rows, &b->cap_rows, b->n_rows + 1, err) != BM_OK)
        return NULL;
    bm_bench_row *row = &b->rows[b->n_rows++];
    memset(row, 0, sizeof *row);
    snprintf(row->device, sizeof row->device, "%s", info->spec);
    snprintf(row->device_name, sizeof row->device_name, "%s", info->name);
    snprintf(row->what, sizeof row->what, "%s", what);
    snprintf(row->unit, sizeof row->unit, "%s", unit);
    bm_meter_progress(&b->meter, ++b->steps_done, b->steps, 0);
    return row;
}

static void set_rate(bm_bench_row *row, const bm_bench_rate *rate)
{
    row->median = rate->median;
    row->min = rate->min;
    row->max = rate->max;
}

static void set_ratio(const bench *b, bm_bench_row *row, double mshingles)
{
    if (b->limit <= 0)
        return;
    row->ratio = mshingles / b->limit;
    snprintf(row->ratio_to, sizeof row->ratio_to, "%s", b->limit_name);
}

/* Set the number of host threads, and the compute units of an OpenCL device. */
static void set_cores(bm_bench_row *row, const bm_device_info *info, uint32_t threads)
{
    row->threads = threads;
    row->compute_units = info->kind == BM_DEVICE_NATIVE ? 0 : info->compute_units;
}

static bm_bench_plan plan_of(const bench *b, uint32_t threads)
{
    return (bm_bench_plan){.pool = b->pool,
                           .threads = threads,
                           .repeats = b->options.repeats,
                           .min_seconds = b->min_seconds,
                           .callbacks = &b->callbacks};
}

/* A row in shingles per second. */
typedef struct shingle_case {
    const char *what;
    const bm_bench_work *work;
    uint32_t threads; /* host threads; 0: a single thread, which only waits */
} shingle_case;

static bm_bench_series series_of(const bench *b, bm_bench_device *device, const shingle_case *c,
                                 bm_bench_rate *rate)
{
    bm_bench_series series = {
        .plan = plan_of(b, c->threads > 0 ? c->threads : 1), .work = *c->work, .shingles = rate};
    series.work.ctx = device;
    return series;
}

static bm_status add_shingle_row(bench *b, const bm_device_info *info, const shingle_case *c,
                                 const bm_bench_rate *rate, bm_error *err)
{
    bm_bench_row *row = add_row(b, info, c->what, "Mshingles/s", err);
    if (row == NULL)
        return BM_ERR_NOMEM;
    set_rate(row, rate);
    set_ratio(b, row, rate->median);
    set_cores(row, info, c->threads);
    return BM_OK;
}

static bm_status shingle_row(bench *b, bm_bench_device *device, const shingle_case *c,
                             bm_error *err)
{
    bm_bench_rate rate = {0};
    const bm_bench_series series = series_of(b, device, c, &rate);
    BM_TRY(bm_bench_measure_all(&series, 1, err));
    return add_shingle_row(b, device->info, c, &rate, err);
}

/* Add the row of a limit; the ratios of later rows refer to this row. */
static bm_status add_limit_row(bench *b, const bm_device_info *info, const bm_bench_rate *rate,
                               uint32_t threads, bm_error *err)
{
    b->limit_name = threads > 0 ? MEASURED_LIMIT : COMPUTED_LIMIT;
    bm_bench_row *row = add_row(b, info, b->limit_name, "Mshingles/s", err);
    if (row == NULL)
        return BM_ERR_NOMEM;
    set_rate(row, rate);
    set_cores(row, info, 0);
    if (threads > 0) {
        row->threads = threads;
        row->compute_units = 0;
    }
    b->limit = rate->median;
    return BM_OK;
}

/* Add the rows for the device's limit and for resident hashes. If the limit is measured, the two
 * are measured alternately. Otherwise it is computed; if it is unknown, it has no row. */
static bm_status limit_rows(bench *b, bm_bench_device *device, const shingle_case *c, bm_error *err)
{
    const bm_device_info *info = device->info;
    const uint32_t threads = bm_bench_limit_threads(info, b->options.threads);
    bm_bench_rate limit_rate = {0}, rate = {0};
    bm_bench_series series[2] = {series_of(b, device, c, &rate)};
    if (threads == 0) {
        b->limit = 0;
        if (bm_bench_limit_computed(info, b->options.sketch.perms, &limit_rate))
            BM_TRY(add_limit_row(b, info, &limit_rate, 0, err));
        return shingle_row(b, device, c, err);
    }
    bm_bench_limit limit = {0};
    BM_TRY(bm_bench_limit_open(&b->options, info, &limit, err));
    series[1] = (bm_bench_series){
        .plan = plan_of(b, threads), .work = bm_bench_work_limit, .shingles = &limit_rate};
    series[1].work.ctx = &limit;
    const bm_status status = bm_bench_measure_all(series, 2, err);
    bm_scheme_params_reset(&limit.params);
    BM_TRY(status);
    BM_TRY(add_limit_row(b, info, &limit_rate, threads, err));
    return add_shingle_row(b, info, c, &rate, err);
}

/* A row that measures the way from text in memory to words in memory. The documents are the
 * caller's, unless `foreign`. */
typedef struct text_case {
    const char *what;
    bm_shingle_kind kind;
    uint32_t k;
    bool plain;   /* instead of the caller's options: no normaliser, words between white space */
    bool foreign; /* generated text that is not ASCII */
    bool bag;
    bool native_only; /* measure only on the native CPU, because the row is about the host */
} text_case;

static const text_case text_cases[] = {
    {.what = "text word:5", .kind = BM_SHINGLE_WORD, .k = 5},
    {.what = "text char:5", .kind = BM_SHINGLE_CHAR, .k = 5},
    {.what = "text byte:8", .kind = BM_SHINGLE_BYTE, .k = 8, .native_only = true},
    {.what = "text word:5, plain",
     .kind = BM_SHINGLE_WORD,
     .k = 5,
     .plain = true,
     .native_only = true},
    {.what = "text word:5, foreign",
     .kind = BM_SHINGLE_WORD,
     .k = 5,
     .foreign = true,
     .native_only = true},
    {.what = "text stopword:4", .kind = BM_SHINGLE_STOPWORD, .k = 4, .native_only = true},
    {.what = "text word:5, bag", .kind = BM_SHINGLE_WORD, .k = 5, .bag = true, .native_only = true},
};
enum { TEXT_CASES = sizeof text_cases / sizeof text_cases[0] };

static bm_status text_row(bench *b, bm_bench_device *device, const text_case *row_case,
                          bm_error *err)
{
    bm_text_options text = b->options.text;
    text.shingle = row_case->kind;
    text.shingle_k = row_case->k;
    text.bag = row_case->bag;
    if (row_case->plain) {
        text.normalize = 0;
        text.words = BM_WORDS_SPACE;
    }
    const bm_bench_text *documents = row_case->foreign ? &b->foreign : &b->text;
    text.stopwords = documents->common.data; /* NULL: the English stop words */
    BM_TRY(bm_bench_device_set_text(device, &b->options, &text, documents, err));
    bm_bench_rate shingles = {0}, bytes = {0};
    bm_bench_work work = bm_bench_work_text;
    work.ctx = device;
    bm_bench_plan plan = plan_of(b, b->options.threads);
    BM_TRY(bm_bench_measure(&plan, &work, &shingles, &bytes, err));
    bm_bench_row *row = add_row(b, device->info, row_case->what, "MB/s", err);
    if (row == NULL)
        return BM_ERR_NOMEM;
    set_rate(row, &bytes);
    set_ratio(b, row, shingles.median);
    set_cores(row, device->info, b->options.threads);
    return BM_OK;
}

typedef struct link_copies {
    char spec[sizeof((bm_device_info *)0)->spec];
    size_t bytes;
    double rates[2]; /* upload, read-back */
    bm_status status;
    bm_error error;
} link_copies;

static void *run_copies(void *ctx)
{
    link_copies *c = ctx;
    c->status = bm_opencl_link_rate(c->spec, c->bytes, &c->rates[0], &c->rates[1], &c->error);
    return NULL;
}

/* Measure the link on a thread of its own. If the driver never answers, the thread and its memory
 * are leaked. */
static bm_status link_rates(const bench *b, const bm_device_info *info, double rates[2],
                            bm_error *err)
{
    const bm_device_options *device = &b->options.device;
    const double limit = device->call_seconds > 0 ? device->call_seconds : LINK_SECONDS;
    link_copies *c = NULL;
    pthread_t thread;
    BM_TRY(bm_new_zero(&c, 1, err));
    memcpy(c->spec, info->spec, sizeof c->spec);
    c->bytes = info->max_alloc_bytes != 0 && info->max_alloc_bytes < LINK_BYTES
                   ? (size_t)info->max_alloc_bytes
                   : LINK_BYTES;
    const int failed = bm_thread_start(&thread, run_copies, c);
    if (failed != 0) {
        bm_free(c);
        return bm_fail_thread(failed, err);
    }
    const struct timespec until = bm_clock_in(CLOCK_REALTIME, limit + 1);
    if (pthread_timedjoin_np(thread, NULL, &until) != 0) {
        pthread_detach(thread);
        if (device->n_stuck != NULL)
            __atomic_fetch_add(device->n_stuck, 1, __ATOMIC_RELAXED);
        return bm_fail_at(err, BM_ERR_DEVICE, info->spec, 0,
                          "the device did not copy within %.3g seconds", limit);
    }
    const bm_status status = c->status;
    memcpy(rates, c->rates, sizeof c->rates);
    if (status != BM_OK && err != NULL)
        *err = c->error;
    bm_free(c);
    return status;
}

static bm_status link_rows(bench *b, const bm_device_info *info, bm_error *err)
{
    double rates[2];
    BM_TRY(link_rates(b, info, rates, err));
    for (size_t i = 0; i < 2; i++) {
        bm_bench_row *row = add_row(b, info, i == 0 ? UPLOAD : READ_BACK, "MB/s", err);
        if (row == NULL)
            return BM_ERR_NOMEM;
        row->median = row->min = row->max = rates[i] * 1e-6;
        row->threads = 1;
    }
    return BM_OK;
}

/* A row for hashes that are on the device already. An OpenCL device is timed by its own clock. */
static shingle_case resident_case(const bench *b, const bm_device_info *info, const char *what)
{
    if (info->kind == BM_DEVICE_NATIVE)
        return (shingle_case){what, &bm_bench_work_resident, b->options.threads};
    return (shingle_case){what, &bm_bench_work_kernel, 0};
}

/* Should a row be measured that the answer does not need? If only the time for it is missing, it
 * counts as left out. */
static bool wants_row(bench *b)
{
    const double seconds = b->options.seconds * ROWS_SHARE;
    if (!b->options.answer_only && (seconds <= 0 || bm_clock_seconds() - b->begin < seconds))
        return true;
    b->left_out += !b->options.answer_only;
    return false;
}

/* Measure a scheme on long documents, with a backend of its own. *rate: M shingles/s. */
static bm_status long_row(bench *b, const bm_device_info *info, const bm_scheme_ops *scheme,
                          double *rate, bm_error *err)
{
    char what[48];
    snprintf(what, sizeof what, "documents of %" PRIu32 ", %s", b->options.long_doc,
             bm_option_name(BM_OPTION_SCHEME, scheme->scheme));
    const shingle_case resident = resident_case(b, info, what);
    bm_bench_options options = b->options;
    options.sketch.scheme = scheme->scheme;
    bm_bench_device device;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_bench_device_open(&options, info, b->options.threads, &device, err));
    BM_TRY_OUT(bm_bench_device_fill(&device, b->options.long_doc, err));
    BM_TRY_OUT(shingle_row(b, &device, &resident, err));
    *rate = b->rows[b->n_rows - 1].median;
out:
    bm_bench_device_close(&device);
    return status;
}

/* Measure every scheme without weights. Each scheme after the first gets its ratio to the first. */
static bm_status long_rows(bench *b, const bm_device_info *info, bm_error *err)
{
    double first = 0, rate = 0;
    char first_what[sizeof b->rows->what] = "";
    const bm_scheme_ops *scheme;
    for (size_t i = 0; (scheme = bm_scheme_at(i)) != NULL; i++) {
        if (scheme->weighted || !wants_row(b))
            continue;
        BM_TRY(long_row(b, info, scheme, &rate, err));
        bm_bench_row *row = &b->rows[b->n_rows - 1];
        if (i == 0) {
            first = rate;
            memcpy(first_what, row->what, sizeof first_what);
            continue;
        }
        row->ratio = first > 0 ? rate / first : 0;
        snprintf(row->ratio_to, sizeof row->ratio_to, "%s", first_what);
    }
    return BM_OK;
}

/* Keep the rates of the device that the answer needs. */
static void note_rates(bench *b, const bm_device_info *info, bm_bench_rates *rates)
{
    for (size_t i = 0; i < b->n_rows; i++) {
        const bm_bench_row *row = &b->rows[i];
        if (strcmp(row->device, info->spec) != 0)
            continue;
        if (strcmp(row->what, RESIDENT) == 0)
            rates->mshingles_s = row->median;
        else if (strcmp(row->what, UPLOAD) == 0)
            rates->up_mb_s = row->median;
        else if (strcmp(row->what, READ_BACK) == 0)
            rates->down_mb_s = row->median;
    }
    rates->threads = b->options.threads;
    rates->cores = bm_bench_limit_threads(info, b->options.threads);
    if (info->kind == BM_DEVICE_CL_CPU) /* such a device shares the host's memory */
        rates->up_mb_s = rates->down_mb_s = 0;
}

static bm_status device_rows(bench *b, const bm_device_info *info, bm_bench_rates *rates,
                             bm_error *err)
{
    bool native = info->kind == BM_DEVICE_NATIVE;
    bm_bench_device device;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_bench_device_open(&b->options, info, b->options.threads, &device, err));
    BM_TRY_OUT(bm_bench_device_fill(&device, BM_BENCH_DOC, err));
    const shingle_case resident = resident_case(b, info, RESIDENT);
    const shingle_case from_host = {"hashes from the host", &bm_bench_work_resident, 1};
    BM_TRY_OUT(limit_rows(b, &device, &resident, err));
    if (!native)
        BM_TRY_OUT(link_rows(b, info, err));
    note_rates(b, info, rates);
    if (!native && wants_row(b))
        BM_TRY_OUT(shingle_row(b, &device, &from_host, err));
    for (size_t i = 0; i < TEXT_CASES; i++) {
        if ((native || !text_cases[i].native_only) && wants_row(b))
            BM_TRY_OUT(text_row(b, &device, &text_cases[i], err));
    }
out:
    bm_bench_device_close(&device);
    BM_TRY(status);
    return long_rows(b, info, err);
}

/* Pick the given devices or, if none are given, every usable device. */
static bm_status pick_devices(bench *b, bm_error *err)
{
    const bool named = b->options.device.device != NULL;
    BM_TRY(named ? bm_device_pick_open(&b->options.device, &b->callbacks, &b->pick, err)
                 : bm_device_pick_list(&b->options.device, &b->callbacks, &b->pick, err));
    if (b->pick.broken)
        bm_meter_log(&b->meter, BM_LOG_WARNING, "%s", b->pick.why);
    if (named)
        return BM_OK;
    size_t n = 0;
    for (size_t i = 0; i < b->pick.n; i++)
        if (b->pick.devices[i].usable)
            b->pick.devices[n++] = b->pick.devices[i];
    b->pick.n = n;
    b->pick.fallback = true;
    return BM_OK;
}

static bm_status all_rows(bench *b, bm_error *err)
{
    uint64_t schemes = 0;
    for (size_t i = 0; bm_scheme_at(i) != NULL; i++)
        schemes += !bm_scheme_at(i)->weighted;
    for (size_t i = 0; i < b->pick.n; i++) {
        const bool native = b->pick.devices[i].kind == BM_DEVICE_NATIVE;
        b->steps +=
            b->options.answer_only ? (native ? 2u : 4u) : schemes + (native ? 2u + TEXT_CASES : 7u);
    }
    b->min_seconds = b->options.min_seconds;
    const double share =
        b->options.seconds * ROWS_SHARE / ((double)b->steps * (b->options.repeats + 1.0));
    if (share > 0 && share < b->min_seconds)
        b->min_seconds = share;
    bm_meter_stage(&b->meter, "bench", "figures");
    for (size_t i = 0; i < b->pick.n;) {
        const bm_device_info *info = &b->pick.devices[i];
        bm_error why = {0};
        const bm_status status = device_rows(b, info, &b->rates[i], &why);
        if (status == BM_ERR_DEVICE && b->pick.fallback && b->pick.n > 1) {
            bm_meter_log(&b->meter, BM_LOG_WARNING, "%s is left out: %s", info->spec, why.message);
            memmove(&b->pick.devices[i], &b->pick.devices[i + 1], (--b->pick.n - i) * sizeof *info);
            continue;
        }
        if (status == BM_ERR_DEVICE)
            return bm_fail_at(err, status, info->spec, 0, "%s", why.message);
        if (status != BM_OK && err != NULL)
            *err = why;
        BM_TRY(status);
        i++;
    }
    if (b->left_out > 0)
        bm_meter_log(&b->meter, BM_LOG_INFO, "%" PRIu64 " rows are left out: %g seconds are over",
                     b->left_out, b->options.seconds);
    return BM_OK;
}

static bm_status open_bench(const bm_bench_options *options, bench *b, bm_error *err)
{
    b->options = *options;
    if (b->options.threads == 0)
        b->options.threads = bm_cpu_count();
    if (b->options.repeats == 0)
        b->options.repeats = 5;
    if (b->options.long_doc == 0)
        b->options.long_doc = LONG_DOC;
    if (!(b->options.min_seconds > 0))
        b->options.min_seconds = 0.2;
    bm_meter_init(&b->meter, &options->callbacks);
    b->callbacks = bm_meter_callbacks(&b->meter);
    b->options.callbacks = b->callbacks;
    if (b->options.repeats > 100000 || !(b->options.min_seconds <= 3600))
        return bm_fail_field(err, "repeats", "%u repeats of %g seconds (at most 100000 of 3600)",
                             b->options.repeats, b->options.min_seconds);
    BM_TRY(pick_devices(b, err));
    BM_TRY(bm_new_zero(&b->rates, b->pick.n, err));
    BM_TRY(bm_bench_text_open(options->paths, options->n_paths, &b->callbacks, &b->text, err));
    if (!b->options.answer_only)
        BM_TRY(bm_bench_text_foreign(&b->foreign, err));
    uint32_t most = b->options.threads;
    for (size_t i = 0; i < b->pick.n; i++) {
        const uint32_t threads = bm_bench_limit_threads(&b->pick.devices[i], b->options.threads);
        most = threads > most ? threads : most;
    }
    return bm_pool_open(most, &b->pool, err);
}

bm_status bm_bench_run(const bm_bench_options *options, bm_bench_result *out, bm_error *err)
{
    bench b = {.begin = bm_clock_seconds()};
    bm_status status = BM_OK;
    bm_bench_options used = *options;
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.text = &used.text,
                                                    .sketch = &used.sketch,
                                                    .device = &used.device,
                                                    .callbacks = &used.callbacks},
                                 err));
    BM_TRY(bm_scheme_weights_check(&used.sketch, false, err));
    used.sketch.perms = used.sketch.perms != 0 ? used.sketch.perms : BM_PERMS_DEFAULT;
    bm_scheme_set_hashing(&used.sketch, &used.text);
    BM_TRY_OUT(open_bench(&used, &b, err));
    BM_TRY_OUT(all_rows(&b, err));
    BM_TRY_OUT(bm_new_zero(&out->jobs, 2 * b.pick.n, err));
    BM_TRY_OUT(bm_bench_answer_run(&b.options, &b.text, b.pick.devices, b.rates, b.pick.n,
                                   used.seconds > 0 ? b.begin + used.seconds : 0, out->jobs,
                                   &out->n_jobs, err));
    if (out->n_jobs < 2 * b.pick.n)
        bm_meter_log(&b.meter, BM_LOG_INFO, "no jobs on %zu of %zu devices: %g seconds are over",
                     b.pick.n - out->n_jobs / 2, b.pick.n, used.seconds);
    BM_TRY_OUT(bm_bench_answer_write(&b.options, out->jobs, out->n_jobs, &out->answer, err));
    bm_bench_report report = {.options = &b.options,
                              .devices = b.pick.devices,
                              .n_devices = b.pick.n,
                              .rows = b.rows,
                              .n_rows = b.n_rows,
                              .jobs = out->jobs,
                              .n_jobs = out->n_jobs,
                              .rates = b.rates,
                              .text_bytes = b.text.bytes.len,
                              .text_docs = b.text.n,
                              .text_made = b.text.made};
    BM_TRY_OUT(bench_report_write(&report, &out->json, err));
    out->rows = b.rows;
    out->n = b.n_rows;
    b.rows = NULL;
out:
    if (status != BM_OK)
        bm_bench_result_reset(out);
    bm_free(b.rates);
    bm_pool_close(b.pool);
    bm_bench_text_reset(&b.text);
    bm_bench_text_reset(&b.foreign);
    bm_device_pick_reset(&b.pick);
    bm_meter_reset(&b.meter);
    bm_free(b.rows);
    return status;
}

void bm_bench_result_reset(bm_bench_result *result)
{
    bm_free_all(result->rows, result->jobs, result->answer, result->json);
    memset(result, 0, sizeof *result);
}
