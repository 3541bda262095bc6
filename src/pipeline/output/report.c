/* report.c -- one function a section, in the order in which they stand in the file. */
#include "pipeline/output/report.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <utf8proc.h>

#include <bandmill/version.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "io/json/json_write.h"
#include "sketch/scheme.h"
#include "pipeline/output/report_ingest.h"
#include "pipeline/output/report_groups.h"
#include "pipeline/output/report_spill.h"
#include "text/normalize.h"

struct bm_summary {
    bm_counts counts;
    bm_band_plan plan;
    char *json;
    char device[512];
    double seconds;
};

const bm_counts *bm_summary_counts(const bm_summary *summary)
{
    return &summary->counts;
}

const bm_band_plan *bm_summary_plan(const bm_summary *summary)
{
    return &summary->plan;
}

const char *bm_summary_json(const bm_summary *summary)
{
    return summary->json;
}

const char *bm_summary_device(const bm_summary *summary)
{
    return summary->device;
}

double bm_summary_seconds(const bm_summary *summary)
{
    return summary->seconds;
}

void bm_summary_free(bm_summary *summary)
{
    if (summary == NULL)
        return;
    bm_free(summary->json);
    bm_free(summary);
}

/* --- words of the options --- */

static const char *format_name(bm_format format)
{
    static const char *const names[] = {"auto", "jsonl", "tsv", "csv", "lines", "files", "hashes"};
    return names[format];
}

static void normalize_name(uint32_t bits, char *out, size_t cap)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } all[] = {{BM_NORM_NFC, "nfc"},
               {BM_NORM_NFKC, "nfkc"},
               {BM_NORM_LOWER, "lower"},
               {BM_NORM_STRIP_ACCENTS, "strip-accents"},
               {BM_NORM_DIGITS, "digits"}};
    size_t used = 0;
    snprintf(out, cap, "none");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if ((bits & all[i].bit) != 0 && used < cap)
            used +=
                (size_t)snprintf(out + used, cap - used, "%s%s", used == 0 ? "" : ",", all[i].name);
}

/* --- sections --- */

static void write_text_options(bm_json *json, const bm_text_options *text)
{
    static const char *const kinds[] = {"word", "char", "byte"};
    char normalize[64], shingle[32];
    normalize_name(text->normalize, normalize, sizeof normalize);
    snprintf(shingle, sizeof shingle, "%s:%u", kinds[text->shingle], text->shingle_k);
    bm_json_key_text(json, "normalize", normalize);
    bm_json_key_text(json, "words", text->words == BM_WORDS_SPACE ? "space" : "alnum");
    bm_json_key_text(json, "shingle", shingle);
    bm_json_key_text(json, "short", text->short_rule == BM_SHORT_SKIP ? "skip" : "whole");
    bm_json_key_text(json, "unicode", bm_unicode_version());
    bm_json_key_text(json, "utf8proc_unicode", utf8proc_unicode_version());
}

static void write_input_options(bm_json *json, const bm_job_context *run)
{
    const bm_input_options *input = &run->job->input;
    bm_json_key_text(
        json, "input_format",
        format_name(run->inputs != NULL ? bm_input_set_format(run->inputs) : input->format));
    bm_json_key(json, "text_fields");
    bm_json_begin_array(json);
    for (size_t i = 0; i < input->n_text_fields; i++)
        bm_json_text(json, input->text_fields[i]);
    if (input->n_text_fields == 0)
        bm_json_text(json, "text");
    bm_json_end_array(json);
    bm_json_key_text(json, "id_field", input->id_field);
    bm_json_key_text(json, "header", input->header < 0 ? NULL : input->header == 0 ? "no" : "yes");
    bm_json_key_text(json, "duplicate_ids", input->number_duplicate_ids ? "number" : "error");
    bm_json_key_text(json, "on_error", input->skip_errors ? "skip" : "fail");
    bm_json_key_text(json, "invalid_utf8", input->invalid_utf8_is_error ? "error" : "replace");
    bm_json_key_uint(json, "max_doc_bytes", input->max_doc_bytes);
}

static void write_provenance(bm_json *json, const bm_job_context *run)
{
    bm_json_key(json, "provenance");
    bm_json_begin_object(json);
    bm_json_key_text(json, "scheme", bm_scheme_get(run->sketch.scheme)->name);
    bm_json_key_text(json, "hash", run->hash_name);
    bm_json_key_uint(json, "seed", run->sketch.seed);
    bm_json_key_uint(json, "perms", run->sketch.perms);
    write_text_options(json, &run->job->text);
    bm_json_key_uint(json, "format", BM_FILE_FORMAT);
    write_input_options(json, run);
    bm_json_end_object(json);
}

static void write_parameters(bm_json *json, const bm_job_context *run)
{
    static const char *const verify[] = {"auto", "exact", "signature", "none"};
    static const char *const keep[] = {"first", "last", "longest", "shortest"};
    bm_json_key(json, "parameters");
    bm_json_begin_object(json);
    bm_json_key_double(json, "threshold", run->job->lsh.threshold);
    bm_json_key_double(json, "recall", run->job->lsh.recall);
    bm_json_key_text(json, "candidates", run->job->all_candidates ? "all" : "lsh");
    bm_json_key_text(json, "verify", verify[run->verify]);
    bm_json_key_text(json, "cluster",
                     run->job->lsh.cluster == BM_CLUSTER_STAR ? "star" : "components");
    bm_json_key_text(json, "keep", keep[run->job->lsh.keep]);
    bm_json_end_object(json);
}

static void write_plan(bm_json *json, const bm_job_context *run)
{
    const bm_band_plan *plan = &run->plan;
    bm_json_key(json, "plan");
    if (plan->bands == 0) {
        bm_json_text(json, NULL);
        return;
    }
    bm_json_begin_object(json);
    bm_json_key_uint(json, "bands", plan->bands);
    bm_json_key_uint(json, "rows", plan->rows);
    bm_json_key_uint(json, "unused_perms", plan->perms - plan->bands * plan->rows);
    bm_json_key_double(json, "predicted_recall", plan->predicted_recall);
    bm_json_end_object(json);
}

void bm_report_settings(bm_json *json, const bm_job_context *run)
{
    write_provenance(json, run);
    if (strcmp(run->kind, "signatures") != 0)
        write_parameters(json, run);
    write_plan(json, run);
}

/* Only where one was asked for. */
static void write_sample(bm_json *json, const bm_job_context *run)
{
    if (run->job->sample == 0)
        return;
    bm_json_key(json, "sample");
    bm_json_begin_object(json);
    bm_json_key_uint(json, "documents", run->counts.sampled);
    bm_json_key_uint(json, "of", run->counts.documents);
    bm_json_key_uint(json, "seed", run->job->sketch.seed);
    bm_json_end_object(json);
}

static void write_counts(bm_json *json, const bm_counts *c, bool grouped)
{
    bm_json_key(json, "counts");
    bm_json_begin_object(json);
    bm_json_key_uint(json, "records", c->records);
    bm_json_key_uint(json, "documents", c->documents);
    bm_json_key_uint(json, "empty", c->empty);
    bm_json_key_uint(json, "short", c->short_docs);
    bm_json_key_uint(json, "skipped", c->skipped);
    bm_json_key_uint(json, "invalid_utf8", c->invalid_utf8);
    bm_json_key_uint(json, "hidden_files", c->hidden_files);
    bm_json_key_uint(json, "shingles", c->shingles);
    if (grouped) {
        bm_json_key_uint(json, "identical", c->identical);
        bm_json_key_uint(json, "candidates", c->candidates);
        bm_json_key_uint(json, "verified", c->verified);
        bm_json_key_uint(json, "edges", c->edges);
        bm_json_key_uint(json, "groups", c->groups);
        bm_json_key_uint(json, "removed", c->removed);
        bm_json_key_uint(json, "chained", c->chained);
        bm_json_key_uint(json, "kept", c->kept);
        bm_json_key_uint(json, "not_compared", c->not_compared);
    }
    bm_json_end_object(json);
}

static void write_inputs(bm_json *json, const bm_job_context *run)
{
    bm_json_key(json, "inputs");
    bm_json_begin_array(json);
    for (size_t i = 0; run->inputs != NULL && i < bm_input_set_count(run->inputs); i++) {
        const bm_source *source = bm_input_set_source(run->inputs, i);
        char digest[33];
        snprintf(digest, sizeof digest, "%016llx%016llx", (unsigned long long)source->digest.hi,
                 (unsigned long long)source->digest.lo);
        bm_json_begin_object(json);
        bm_json_key(json, "file");
        bm_buf name = {0};
        if (bm_tsv_escape(&name, (bm_str){source->name, strlen(source->name)}, NULL) != BM_OK)
            json->status = BM_ERR_NOMEM;
        bm_json_string(json, (bm_str){name.data, name.len});
        bm_buf_reset(&name);
        bm_json_key_uint(json, "bytes", source->bytes_read);
        bm_json_key_text(json, "xxh3_128", digest);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
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

static void write_devices(bm_json *json, const bm_job_context *run)
{
    bm_json_key(json, "devices");
    bm_json_begin_array(json);
    if (run->device_set_open &&
        (run->device_set.use_cpu || atomic_load(&run->device_set.cpu_docs) > 0))
        write_device(json, &run->device_set.cpu->info, atomic_load(&run->device_set.cpu_docs));
    for (size_t i = 0; run->device_set_open && i < run->device_set.n_device_workers; i++)
        write_device(json, &run->device_set.device_workers[i].info,
                     run->device_set.device_workers[i].n_docs);
    bm_json_end_array(json);
}

static void write_run(bm_json *json, const bm_job_context *run, double seconds)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    char cpu[128];
    bm_cpu_name(cpu, sizeof cpu);
    bm_json_key(json, "run");
    bm_json_begin_object(json);
    bm_json_key_double(json, "seconds", seconds);
    bm_json_key_text(json, "device", run->device_set_open ? run->device_set.names : NULL);
    write_devices(json, run);
    bm_json_key_text(json, "processor", cpu);
    bm_json_key_uint(json, "threads", run->threads);
    bm_json_key_uint(json, "memory_limit_bytes", run->memory);
    bm_json_key_uint(json, "peak_resident_bytes", (uint64_t)usage.ru_maxrss * 1024);
    if (run->n_resumed > 0)
        bm_json_key_uint(json, "resumed_documents", run->n_resumed);
    bm_report_ingest(json, &run->ingest_times);
    if (run->device_set_open)
        bm_report_text_offload(json, &run->device_set.path);
    bm_report_spill(json, run);
    if (run->counts.verified > 0)
        bm_json_key_double(json, "verify_seconds", run->verify_seconds);
    bm_json_key(json, "stages");
    bm_json_begin_array(json);
    for (size_t i = 0; i < run->n_stages; i++) {
        bm_json_begin_object(json);
        bm_json_key_text(json, "stage", run->stages[i].name);
        bm_json_key_double(json, "seconds", run->stages[i].seconds);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_end_object(json);
}

bm_status bm_report_make(bm_job_context *run, const bm_grouping *grouping, const char *digests,
                         bm_summary **out, bm_error *err)
{
    bm_version_info version;
    bm_version(&version);
    bm_job_context_stage(run, NULL, NULL);
    double seconds = bm_clock_seconds() - run->began;
    bm_json json = {.pretty = true};
    bm_status status = BM_OK;
    bm_json_begin_object(&json);
    bm_json_key_uint(&json, "schema", BM_REPORT_SCHEMA);
    bm_json_key_text(&json, "tool", "bandmill");
    bm_json_key_text(&json, "kind", run->kind);
    bm_json_key_text(&json, "version", version.version);
    bm_report_settings(&json, run);
    write_sample(&json, run);
    write_counts(&json, &run->counts, strcmp(run->kind, "signatures") != 0);
    if (grouping != NULL)
        status = bm_report_groups(&json, grouping, &run->docs, err);
    if (run->similarities != NULL)
        bm_report_similarities(&json, run->similarities);
    write_inputs(&json, run);
    bm_json_key(&json, "outputs");
    bm_json_raw(&json, digests != NULL ? digests : "{}");
    write_run(&json, run, seconds);
    bm_json_end_object(&json);
    if (status == BM_OK)
        status = bm_json_finish(&json, err);
    bm_summary *summary = status == BM_OK ? bm_alloc_zero(1, sizeof *summary) : NULL;
    if (summary == NULL) {
        bm_buf_reset(&json.buf);
        return status == BM_OK ? bm_fail_nomem(err, sizeof *summary) : status;
    }
    summary->counts = run->counts;
    summary->plan = run->plan;
    summary->json = json.buf.data; /* taken */
    summary->seconds = seconds;
    snprintf(summary->device, sizeof summary->device, "%s",
             run->device_set_open ? run->device_set.names : "");
    *out = summary;
    return BM_OK;
}

static bm_status write_whole(bm_out_file *file, const char *text, bm_error *err)
{
    bm_status status = bm_out_file_write(file, text, strlen(text), err);
    if (status != BM_OK) {
        bm_out_file_abort(file);
        return status;
    }
    return bm_out_file_close(file, err);
}

bm_status bm_report_write(const bm_job_context *run, const bm_summary *summary, bm_out_dir *dir,
                          const char *name, bm_error *err)
{
    bm_out_file *file;
    bm_status status = BM_OK;
    if (dir != NULL) {
        status = bm_out_dir_file(dir, name, &file, err);
        if (status == BM_OK)
            status = write_whole(file, summary->json, err);
    }
    if (status == BM_OK && run->job->report != NULL) {
        status =
            bm_out_file_open(run->job->report, bm_out_existing_of(run->job->force), &file, err);
        if (status == BM_OK)
            status = write_whole(file, summary->json, err);
    }
    return status;
}
