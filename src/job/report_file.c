/* report_file.c -- one function a section, in the order in which they stand in the file.
 *
 * Tests: tests/cli/cases/dedup.sh, tests/cli/cases/bad_records.sh, tests/cli/cases/oph.sh
 * Tests: tests/identity/test_product.py, tests/unit/jobs/test_public_api_job.c */
#include "job/report_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <bandmill/version.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "json/json_write.h"
#include "output/manifest.h"
#include "output/manifest_seal.h"
#include "job/report_counts.h"
#include "job/report_ingest.h"
#include "job/report_groups.h"
#include "job/report_inputs.h"
#include "job/report_spill.h"
#include "job/rows.h"

struct bm_summary {
    bm_counts counts;
    bm_band_plan plan;
    bm_scheme scheme;
    char *json;
    char device[512];
    double seconds;
};

const bm_counts *bm_summary_counts(const bm_summary *summary)
{
    return summary != NULL ? &summary->counts : NULL;
}

const bm_band_plan *bm_summary_plan(const bm_summary *summary)
{
    return summary != NULL ? &summary->plan : NULL;
}

bm_scheme bm_summary_scheme(const bm_summary *summary)
{
    return summary != NULL ? summary->scheme : BM_SCHEME_AFFINE32;
}

const char *bm_summary_json(const bm_summary *summary)
{
    return summary != NULL ? summary->json : NULL;
}

const char *bm_summary_device(const bm_summary *summary)
{
    return summary != NULL ? summary->device : NULL;
}

double bm_summary_seconds(const bm_summary *summary)
{
    return summary != NULL ? summary->seconds : 0;
}

void bm_summary_free(bm_summary *summary)
{
    if (summary == NULL)
        return;
    bm_free(summary->json);
    bm_free(summary);
}

/* --- sections --- */

typedef struct section_writer {
    bm_json *json;
    int open; /* the section, -1: none */
} section_writer;

static void end_section(section_writer *w)
{
    if (w->open >= 0)
        bm_json_end_object(w->json);
    w->open = -1;
}

static void write_setting(void *ctx, const bm_setting *setting)
{
    static const char *const sections[] = {"provenance", "parameters", "plan"};
    section_writer *w = ctx;
    if (setting->section == BM_SECTION_OUTPUT)
        return;
    if (w->open != (int)setting->section) {
        end_section(w);
        if (setting->kind != BM_SETTING_NULL) {
            bm_json_key(w->json, sections[setting->section]);
            bm_json_begin_object(w->json);
            w->open = (int)setting->section;
        }
    }
    bm_json_key(w->json, setting->name);
    bm_report_setting_value(w->json, setting);
}

void bm_report_settings(bm_json *json, const bm_job_context *job)
{
    section_writer w = {.json = json, .open = -1};
    bm_settings_list(job->settings, bm_job_context_format(job), write_setting, &w);
    end_section(&w);
}

void bm_report_setting_value(bm_json *json, const bm_setting *setting)
{
    switch (setting->kind) {
    case BM_SETTING_NULL:
    case BM_SETTING_TEXT:
        bm_json_text(json, setting->text);
        break;
    case BM_SETTING_UINT:
        bm_json_uint(json, setting->number);
        break;
    case BM_SETTING_DOUBLE:
        bm_json_double(json, setting->real);
        break;
    case BM_SETTING_TEXTS:
        bm_json_begin_array(json);
        for (size_t i = 0; i < setting->n_texts; i++)
            bm_json_text(json, setting->texts[i]);
        bm_json_end_array(json);
        break;
    }
}

/* Only where one was asked for. */
static void write_sample(bm_json *json, const bm_job_context *job)
{
    if (job->settings->pairs.sample == 0)
        return;
    bm_json_key(json, "sample");
    bm_json_begin_object(json);
    bm_json_key_uint(json, "documents", job->counts.sampled);
    bm_json_key_uint(json, "of", job->counts.documents);
    bm_json_key_uint(json, "seed", job->settings->sketch.seed);
    bm_json_end_object(json);
}

/* How often the bands propose a document that is wholly contained in another, by the ratio of their sizes: the similarity of the two.
 * Only where that is asked. */
static void write_containment_recall(bm_json *json, const bm_job_context *job)
{
    static const double ratios[] = {1, .8, .5, .2};
    const bm_band_plan *plan = &job->settings->plan;
    if (job->settings->pairs.verify != BM_VERIFY_CONTAINED)
        return;
    bm_json_key(json, "containment_recall");
    bm_json_begin_array(json);
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        bm_json_begin_object(json);
        bm_json_key_double(json, "size_ratio", ratios[i]);
        bm_json_key_double(json, "recall", bm_band_probability(plan->bands, plan->rows, ratios[i]));
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* Only where one was given. */
static void write_against(bm_json *json, const bm_job_context *job)
{
    const bm_job_against *against = &job->against;
    if (job->settings->pairs.against == NULL)
        return;
    bm_json_key(json, "against");
    bm_json_begin_object(json);
    bm_json_key_uint(json, "documents", against->documents);
    bm_json_key_uint(json, "candidates", against->candidates);
    bm_json_key_uint(json, "verified", against->verified);
    bm_json_key_uint(json, "not_compared", against->not_compared);
    bm_json_key_uint(json, "found", against->found);
    bm_json_end_object(json);
}

static void write_device(bm_json *json, const bm_device_info *device, uint64_t n_docs)
{
    bm_json_begin_object(json);
    bm_json_key_text(json, "device", device->spec);
    bm_json_key_text(json, "name", device->name);
    bm_json_key_text(json, "platform", device->platform);
    bm_json_key_text(json, "driver", device->driver); /* of the native CPU: the instruction set */
    bm_json_key_uint(json, "documents", n_docs);
    bm_json_end_object(json);
}

static void write_devices(bm_json *json, const bm_job_context *job)
{
    bm_json_key(json, "devices");
    bm_json_begin_array(json);
    if (job->devices.open &&
        (job->devices.set.use_cpu || atomic_load(&job->devices.set.cpu_docs) > 0))
        write_device(json, &job->devices.set.cpu->info, atomic_load(&job->devices.set.cpu_docs));
    for (size_t i = 0; job->devices.open && i < job->devices.set.n_device_workers; i++)
        write_device(json, &job->devices.set.device_workers[i].info,
                     job->devices.set.device_workers[i].n_docs);
    bm_json_end_array(json);
}

bool bm_report_asks(const bm_setting *setting)
{
    return setting->section == BM_SECTION_OUTPUT && strcmp(setting->name, "command") != 0;
}

static void write_asked_one(void *ctx, const bm_setting *setting)
{
    bm_json *json = ctx;
    if (!bm_report_asks(setting))
        return;
    bm_json_key(json, setting->name);
    bm_report_setting_value(json, setting);
}

/* What was to be written: so a job that asks whether it is done knows it again. */
static void write_asked(bm_json *json, const bm_job_context *job)
{
    bm_json_key(json, BM_RUN_ASKED);
    bm_json_begin_object(json);
    bm_settings_list(job->settings, bm_job_context_format(job), write_asked_one, json);
    bm_json_end_object(json);
}

/* What was asked for, and when the job began, in UTC. */
static void write_origin(bm_json *json, const bm_job_context *job)
{
    char date[32] = "";
    struct tm utc;
    if (gmtime_r(&job->clock.date, &utc) != NULL &&
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        bm_json_key_text(json, "date", date);
    const char *const *word = job->settings->output.command;
    if (word == NULL)
        return;
    bm_json_key(json, "command");
    bm_json_begin_array(json);
    for (; *word != NULL; word++)
        bm_report_text(json, *word);
    bm_json_end_array(json);
}

/* Its end is the caller's. */
static void begin_run(bm_json *json, const bm_job_context *job, const bm_out_dir *dir,
                      double seconds)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    char cpu[128];
    bm_cpu_name(cpu, sizeof cpu);
    bm_json_key(json, "run");
    bm_json_begin_object(json);
    write_origin(json, job);
    write_asked(json, job);
    bm_json_key_double(json, "seconds", seconds);
    bm_json_key_text(json, "device", job->devices.open ? job->devices.set.names : NULL);
    write_devices(json, job);
    bm_json_key_text(json, "processor", cpu);
    bm_json_key_uint(json, "threads", job->settings->threads);
    bm_json_key_uint(json, "memory_limit_bytes", job->settings->memory);
    bm_json_key_uint(json, "peak_resident_bytes", (uint64_t)usage.ru_maxrss * 1024);
    if (job->story.n_resumed > 0)
        bm_json_key_uint(json, "resumed_documents", job->story.n_resumed);
    bm_report_ingest(json, &job->story.ingest_times);
    if (job->devices.open)
        bm_report_text_offload(json, &job->devices.set.path);
    bm_report_inputs_found(json, job, dir);
    bm_report_spill(json, job);
    if (job->counts.verified > 0)
        bm_json_key_double(json, "verify_seconds", job->story.verify_seconds);
    bm_json_key(json, "stages");
    bm_json_begin_array(json);
    for (size_t i = 0; i < job->clock.n_stages; i++) {
        bm_json_begin_object(json);
        bm_json_key_text(json, "stage", job->clock.stages[i].name);
        bm_json_key_double(json, "seconds", job->clock.stages[i].seconds);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* Of every file of the directory but the report itself. */
static bm_status write_outputs(bm_json *json, bm_out_dir *dir, bm_error *err)
{
    const char *sha256 = "{}", *xxh3 = "{}", *pieces = "{}";
    bm_status status = BM_OK;
    if (dir != NULL)
        BM_TRY_OUT(bm_out_dir_digests(dir, &sha256, err));
    if (dir != NULL)
        BM_TRY_OUT(bm_out_dir_digests_xxh3(dir, &xxh3, err));
    if (dir != NULL)
        BM_TRY_OUT(bm_out_dir_digests_pieces(dir, &pieces, err));
out:
    bm_json_key(json, BM_MANIFEST_OUTPUTS);
    bm_json_raw(json, sha256);
    bm_json_key(json, BM_MANIFEST_OUTPUTS_XXH3);
    bm_json_raw(json, xxh3);
    if (strcmp(pieces, "{}") != 0) {
        bm_json_key(json, BM_MANIFEST_OUTPUTS_PIECES);
        bm_json_raw(json, pieces);
    }
    bm_json_key_uint(json, BM_MANIFEST_PIECE_BYTES, BM_FILE_PIECE_BYTES);
    bm_json_key_uint(json, BM_MANIFEST_DIGESTS, BM_DIGESTS_VERSION);
    return status;
}

void bm_report_begin(bm_json *json, const bm_job_context *job)
{
    bm_json_begin_object(json);
    bm_json_key_uint(json, "schema", BM_REPORT_SCHEMA);
    bm_json_key_text(json, "tool", "bandmill");
    bm_json_key_text(json, "kind", bm_job_row_of(job->settings)->name);
    bm_json_key_text(json, "version", bm_version()->version);
    bm_report_settings(json, job);
}

bm_status bm_report_summary(const bm_job_context *job, const bm_counts *counts, char *json,
                            bm_summary **out, bm_error *err)
{
    bm_summary *summary = bm_alloc_zero(1, sizeof *summary);
    if (summary == NULL) {
        bm_free(json);
        return bm_fail_nomem(err, sizeof *summary);
    }
    summary->counts = *counts;
    summary->plan = job->settings->plan;
    summary->scheme = job->settings->sketch.scheme;
    summary->json = json;
    summary->seconds = bm_clock_seconds() - job->clock.began;
    snprintf(summary->device, sizeof summary->device, "%s",
             job->devices.open ? job->devices.set.names : "");
    *out = summary;
    return BM_OK;
}

/* Of each rule of `keep` that looks at a field: documents whose values it could not compare. */
static void write_not_ranked(bm_json *json, const bm_keep_keys *keep)
{
    if (keep->rules == NULL)
        return;
    bm_json_key(json, "keep_not_ranked");
    bm_json_begin_array(json);
    for (size_t i = 0; i < keep->rules->n_by_field; i++) {
        const bm_keep_counts *c = &keep->counts[i];
        bm_json_begin_object(json);
        bm_json_key_text(json, "rule", c->rule->words);
        bm_json_key_uint(json, "missing", c->missing);
        bm_json_key_uint(json, "other", c->other);
        if (c->rule->kind == BM_KEEP_RULE_ORDER)
            bm_json_key_uint(json, "unlisted", c->unlisted);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* Each with the bytes of text that went with its removed documents, where they are known of all. */
static void write_inputs(bm_json *json, const bm_job_context *job, const bm_grouping *grouping)
{
    uint64_t *bytes = NULL;
    const bool known = grouping != NULL && job->counts.results.removed_bytes != BM_COUNT_UNKNOWN;
    if (known && (bytes = bm_alloc_zero(job->inputs.names.n, sizeof *bytes)) == NULL)
        json->status = BM_ERR_NOMEM;
    for (size_t i = 0; bytes != NULL && i < grouping->n; i++)
        if (grouping->reason[i] != BM_REASON_KEPT)
            bytes[job->docs.rows[i].file] += job->docs.rows[i].text_bytes;
    bm_report_inputs(json, job, bytes);
    bm_free(bytes);
}

bm_status bm_report_make(bm_job_context *job, const bm_grouping *grouping, bm_out_dir *dir,
                         bm_summary **out, bm_error *err)
{
    bm_job_context_stage(job, NULL, NULL);
    double seconds = bm_clock_seconds() - job->clock.began;
    bm_json json = {.pretty = true};
    bm_status status = BM_OK;
    bm_report_begin(&json, job);
    write_containment_recall(&json, job);
    write_sample(&json, job);
    bm_report_counts(&json, &job->counts,
                     job->settings->pairs.against != NULL ? BM_COUNTS_OF_AGAINST
                                                          : bm_job_row_of(job->settings)->counts);
    write_against(&json, job);
    write_not_ranked(&json, &job->keep);
    if (grouping != NULL)
        status = bm_report_groups(&json, grouping, &job->docs, err);
    if (job->story.similarities != NULL)
        bm_report_similarities(&json, job->story.similarities);
    write_inputs(&json, job, grouping);
    if (status == BM_OK)
        status = write_outputs(&json, dir, err);
    begin_run(&json, job, dir, seconds);
    bm_manifest_seal(&json);
    bm_json_end_object(&json);
    bm_json_end_object(&json);
    if (status == BM_OK)
        status = bm_json_finish(&json, err);
    if (status == BM_OK)
        return bm_report_summary(job, &job->counts, json.buf.data, out, err);
    bm_buf_reset(&json.buf);
    return status;
}

bm_status bm_report_write(const bm_summary *summary, bm_out_dir *dir, const char *name,
                          bm_error *err)
{
    bm_rows rows = {0};
    BM_TRY(bm_out_dir_file(dir, name, &rows.file, err));
    bm_status status = bm_out_file_write(rows.file, summary->json, strlen(summary->json), err);
    return bm_rows_end(&rows, status, err);
}

bm_status bm_report_write_copy(const bm_job_context *job, const bm_summary *summary,
                               bm_out_existing existing, bm_out_group *group, bm_error *err)
{
    const bm_output_options *output = &job->settings->output;
    bm_rows rows = {0};
    if (output->report == NULL)
        return BM_OK;
    BM_TRY(bm_out_file_open(output->report, existing, &rows.file, err));
    bm_status status = bm_out_file_write(rows.file, summary->json, strlen(summary->json), err);
    return bm_rows_end_in(&rows, group, status, err);
}
