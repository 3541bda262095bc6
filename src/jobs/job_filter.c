/* job_filter.c -- the kept documents of a directory that `dedup` wrote, from its inputs: finding
 * and removing as two steps.
 *
 * The tables of the directory name the records to leave out (filter_drops.h); the inputs are walked
 * once and the rest is copied. Where records are known by their ids only, and for formats whose ids
 * are all that is kept, the inputs are read for these first. Inputs stand for those of
 * the report by position, so they may have moved; their digests must be the same.
 *
 * With `annotate` the removed ones are written too, each record with its group (annotation.h).
 *
 * Tests: tests/unit/jobs/test_public_api_job.c, tests/cli/cases/dedup.sh
 * Tests: tests/cli/cases/staged.sh */
#include <bandmill/job.h>

#include <string.h>

#include "base/error.h"
#include "output/manifest.h"
#include "model/file_names.h"
#include "job/job_stages.h"
#include "job/recipe.h"
#include "job/record_room.h"
#include "jobs/annotation.h"
#include "jobs/filter_drops.h"
#include "jobs/group_labels.h"
#include "job/job_steps.h"
#include "job/kept_pass.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct filter {
    const char *path; /* of the directory */
    bm_job *job;      /* once the directory has settled what it reads */
    bm_manifest *manifest;
    bm_recipe recipe;
    bm_drops drops;
    /* Where every document is written, with its group: */
    bm_group_labels labels;
    bm_annotation annotation;
    size_t next_doc;
    uint64_t n_read; /* records, where they are read for their ids */
} filter;

static bool annotates(const filter *f)
{
    return f->job->context.settings->results.annotate;
}

/* --- the ids of the inputs' documents, as dedup had them --- */

/* A bm_record_fn. Ids are settled by all that stands before them (repeated ones may be numbered), so every document goes into the
 * table; the numbers of the records that are left out, removed by their ids or bad, become rows of the drops. */
static bm_status read_id(void *ctx, const bm_record *record, bm_error *err)
{
    filter *f = ctx;
    bm_job_context *context = &f->job->context;
    bm_drops *drops = &f->drops;
    bm_doc_table *docs = &context->docs;
    const char *name = context->inputs.names.names[record->file];
    const bm_doc_row row = {.file = record->file, .line = record->line};
    const bm_drop here = {record->file, f->n_read++};
    const bm_doc_id id = {record->id, XXH3_64bits(record->id.data, record->id.len)};
    if (record->bad)
        return context->settings->input.on_error == BM_ON_ERROR_SKIP
                   ? bm_drops_meet(drops, here, name, err)
                   : bm_fail_at(err, BM_ERR_INPUT, name, record->line, "%s", record->reason);
    if (docs->number_duplicates && bm_drops_doubt(drops, record->id))
        return bm_fail_at(err, BM_ERR_INPUT, name, record->line,
                          "the id '%.*s' looks numbered: which document dedup removed by it cannot "
                          "be told from signatures alone (dedup with `verify` exact knows)",
                          (int)(record->id.len > 200 ? 200 : record->id.len), record->id.data);
    BM_TRY(bm_doc_table_add(docs, &row, id, name, err));
    if (bm_drops_has_id(drops, bm_doc_table_id(docs, docs->n - 1)))
        BM_TRY(bm_drops_meet(drops, here, name, err));
    return BM_OK;
}

/* --- copying --- */

static void count_record(filter *f, bool keep)
{
    f->job->context.counts.records++;
    f->job->context.counts.kept += keep;
}

static bm_status keep_record(void *ctx, const bm_record *record, bm_kept_at *at, bm_copy_side *side,
                             bm_error *err)
{
    (void)at;
    (void)err;
    filter *f = ctx;
    const uint64_t number = f->job->context.counts.records;
    const bool keep =
        !bm_drops_take(&f->drops, (bm_drop){record->file, f->drops.by_id ? number : record->line});
    *side = keep ? BM_COPY_KEPT : BM_COPY_NEITHER;
    count_record(f, keep);
    return BM_OK;
}

/* The group of a record that is written. Documents were read once before, and are asked for in the same
 * order. */
static bm_status insert_group(void *ctx, const bm_record *record, bm_insertion *out, bm_error *err)
{
    filter *f = ctx;
    bm_job_context *context = &f->job->context;
    const bm_doc_table *docs = &context->docs;
    const char *name = context->inputs.names.names[record->file];
    bm_annotated what = {.record = record, .file = name};
    if (record->is_header)
        return bm_annotation_find(&f->annotation, &what, out, err);
    const size_t doc = f->next_doc++;
    if (doc >= docs->n || docs->rows[doc].file != record->file ||
        docs->rows[doc].line != record->line)
        return bm_fail_at(err, BM_ERR_INPUT, name, record->line,
                          "the file changed while it was read (the same records twice)");
    const bm_group_label label = bm_group_labels_take(&f->labels, bm_doc_table_id(docs, doc));
    context->counts.kept -= !label.kept; /* keep_record has counted it */
    what.label = &label;
    return bm_annotation_find(&f->annotation, &what, out, err);
}

/* Formats without records to copy: the ids of the documents. */
static bm_status keep_ids(filter *f, bm_kept_writer *writer, bm_error *err)
{
    const bm_doc_table *docs = &f->job->context.docs;
    bm_status status = BM_OK;
    for (size_t i = 0; i < docs->n; i++) {
        const bm_str id = bm_doc_table_id(docs, i);
        const bool keep = !bm_drops_has_id(&f->drops, id);
        count_record(f, keep);
        if (keep)
            BM_TRY_OUT(bm_kept_writer_id(writer, id, err));
    }
out:
    f->job->context.counts.records += f->drops.n_skipped;
    f->drops.removed.next = f->drops.removed.n; /* as many as reading has met */
    return status;
}

/* All that was to be left out was there. */
static bm_status check_drops(const filter *f, bm_error *err)
{
    const uint64_t all = (annotates(f) ? 0 : f->drops.n_removed) + f->drops.n_skipped;
    if (annotates(f) && !bm_group_labels_done(&f->labels))
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(f->manifest), 0,
                          "%zu of the %zu members of its groups are in the inputs", f->labels.n_met,
                          f->labels.ids.n);
    const uint64_t taken = bm_drops_taken(&f->drops);
    return taken == all
               ? BM_OK
               : bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(f->manifest), 0,
                            "%llu of its %llu removed and skipped records are in the inputs",
                            (unsigned long long)taken, (unsigned long long)all);
}

static bm_status copy_records(filter *f, bm_kept_writer *writer, bm_error *err)
{
    bm_job_context *context = &f->job->context;
    if (f->drops.by_id)
        BM_TRY(bm_records_read(context, read_id, f, NULL, err));
    bm_job_context_stage(context, BM_STAGE_COPY, "bytes");
    bm_kept_writer *const writers[BM_N_COPIES] = {[BM_COPY_KEPT] = writer};
    const bm_kept_rule rule = {
        .keep = keep_record, .insert = annotates(f) ? insert_group : NULL, .ctx = f};
    BM_TRY(bm_kept_writer_wants_ids(writer) ? keep_ids(f, writer, err)
                                            : bm_kept_copy(context, writers, &rule, err));
    BM_TRY(bm_kept_writer_finish(writer, err));
    BM_TRY(bm_recipe_check_inputs(&f->recipe, context->inputs.set, err));
    return check_drops(f, err);
}

static bm_status copy_kept(filter *f, bm_out_dir *dir, bm_error *err)
{
    bm_job_context *context = &f->job->context;
    bm_kept_writer *writer = NULL;
    const bm_kept_cfg cfg = {.dir = dir,
                             .set = context->inputs.set,
                             .kept = context->settings->results.kept,
                             .annotated = annotates(f)};
    BM_TRY(bm_kept_writer_open(&cfg, &writer, err));
    bm_status status = copy_records(f, writer, err);
    bm_kept_writer_close(writer);
    return status == BM_OK
               ? status
               : bm_recipe_blame(&f->recipe, context->inputs.set, &context->callbacks, status, err);
}

static bm_status write_all(filter *f, bm_out_dir *dir, bm_error *err)
{
    bm_counts *counts = &f->job->context.counts;
    bm_job_context_plan(&f->job->context, BM_START_DOCUMENTS);
    bm_status status = copy_kept(f, dir, err);
    counts->removed = f->drops.n_removed;
    counts->skipped = f->drops.n_skipped;
    counts->documents = counts->kept + f->drops.n_removed;
    return status == BM_OK ? bm_job_finish(f->job,
                                           &(bm_job_ending){.dir = dir,
                                                            .report_name = BM_FILE_REPORT,
                                                            .commit_checkpoint = true},
                                           err)
                           : status;
}

/* --- opening --- */

/* Several elements of an array may begin in one line; of files and arrays of hashes only ids are
 * kept. */
static bool ids_tell(bm_format format)
{
    return format == BM_FORMAT_JSON || format == BM_FORMAT_FILES || format == BM_FORMAT_HASHES;
}

/* How dedup read its inputs; and the inputs given now, where there are some. */
static bm_status settle(filter *f, const bm_filter_options *options, bm_settings *settings,
                        bm_error *err)
{
    BM_TRY(bm_manifest_open_dir(f->path, settings->memory, &f->manifest, err));
    BM_TRY(bm_result_check_kind(f->manifest, f->path, err));
    f->recipe = (bm_recipe){.manifests = (const bm_manifest *const *)&f->manifest, .n = 1};
    BM_TRY(bm_recipe_settle(&f->recipe, settings, err));
    f->drops.by_id = ids_tell(settings->input.format) || settings->results.annotate;
    if (settings->results.annotate)
        BM_TRY(bm_annotation_open(&settings->input, &f->annotation, err));
    f->drops.settings = f->labels.settings = settings;
    BM_TRY(bm_drops_load(f->manifest, &f->drops, err));
    if (settings->results.annotate) {
        bm_id_set_reset(&f->drops.ids); /* the removed are not left out */
        f->drops.bytes = f->drops.n_skipped * sizeof *f->drops.skipped.rows;
        BM_TRY(bm_group_labels_load(f->manifest, &f->labels, err));
    }
    settings->recorded.read_twice = f->drops.by_id;
    if (options->n_paths == 0 && options->files_from == NULL)
        return bm_recipe_find(&f->recipe, settings, err);
    settings->input.paths = options->paths;
    settings->input.n_paths = options->n_paths;
    settings->input.files_from = options->files_from;
    settings->input.files_from_nul = options->files_from_nul;
    return bm_recipe_find_offsets(&f->recipe, settings, err);
}

static bm_status run_job(filter *f, const bm_settings *settings, bm_summary **out, bm_error *err)
{
    bm_job job;
    BM_TRY(bm_job_open(settings, &job, err));
    f->job = &job;
    bm_job_context_take(&job.context,
                        bm_manifest_bytes(f->manifest) + f->drops.bytes + f->labels.bytes);
    const size_t n_inputs = bm_manifest_n_inputs(f->manifest);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_begin(&job, BM_STEP_INPUTS, err));
    const size_t n = bm_input_set_count(job.context.inputs.set);
    if (n != n_inputs)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(f->manifest), 0,
                              "it names %zu inputs, %zu are given", n_inputs, n));
    BM_TRY_OUT(bm_job_begin(&job, BM_STEP_DIRECTORY, err));
    status = write_all(f, job.checkpoint.dir, err);
out:
    bm_checkpoint_close(&job.checkpoint, status, err);
    return bm_job_close(&job, status, out);
}

/* The directory and the inputs given: no output may be one of them. */
static bm_status check_outputs(const bm_filter_options *options, const bm_settings *settings,
                               bm_error *err)
{
    size_t n = 0;
    const char **paths = bm_alloc(options->n_paths + 2, sizeof *paths);
    if (paths == NULL)
        return bm_fail_nomem(err, (options->n_paths + 2) * sizeof *paths);
    paths[n++] = options->path;
    for (size_t i = 0; i < options->n_paths; i++)
        paths[n++] = options->paths[i];
    if (options->files_from != NULL)
        paths[n++] = options->files_from;
    bm_status status = bm_job_context_check_outputs(settings, paths, n, err);
    bm_free(paths);
    return status;
}

bm_status bm_job_filter(const bm_filter_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    bm_weighed weighed = {0}; /* as the directory's manifest has it */
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_filter(options, &settings, err));
    settings.recorded.weighed = &weighed;
    filter f = {.path = options->path};
    bm_status status = BM_OK;
    BM_TRY_OUT(check_outputs(options, &settings, err));
    BM_TRY_OUT(settle(&f, options, &settings, err));
    status = run_job(&f, &settings, out, err);
out:
    bm_recipe_reset(&f.recipe);
    bm_manifest_close(f.manifest);
    bm_drops_reset(&f.drops);
    bm_group_labels_reset(&f.labels);
    bm_annotation_close(&f.annotation);
    return status;
}
