/* job_filter.c -- the kept documents of a directory that `dedup` wrote, from its inputs: finding
 * and removing as two steps.
 *
 * removed.tsv and skipped.tsv name records by file and line, in input order; the inputs are walked
 * once and what they name is left out. Where a line may hold several records, those removed are
 * known by their ids. Inputs stand for those of the report by position, so they
 * may have moved; their digests must be the same.
 *
 * Tests: tests/unit/jobs/test_public_api_job.c, tests/cli/cases/dedup.sh */
#include <bandmill/job.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "io/sources/batch_sources.h"
#include "io/output/manifest.h"
#include "pipeline/output/kept_pass.h"
#include "pipeline/context/recipe.h"
#include "pipeline/context/job_stages.h"
#include "pipeline/jobs/job_steps.h"
#include "io/results/result_tables.h"
#include "io/results/tsv_table.h"
#include "model/file_names.h"

typedef struct drop {
    uint32_t file;
    uint64_t line;
    size_t order;     /* among all of them, as read */
    uint64_t id_hash; /* of a removed document; of a skipped record 0 */
} drop;

typedef struct filter {
    const char *path; /* of the directory */
    bm_job *job;      /* once the directory has settled what it reads */
    bm_manifest *manifest;
    bm_recipe recipe;
    drop *drops; /* ordered by file, then line */
    size_t n_drops, cap_drops, next;
    size_t n_removed;
    /* Several records may begin on a line, as elements of an array do, so that the id says which is
     * meant: the removed stand before the skipped then, each ordered for themselves. */
    bool by_id;
    size_t next_skipped;
} filter;

/* --- what to leave out --- */

static bm_status find_file(const filter *f, const bm_tsv_table *table, size_t field, uint32_t *file,
                           bm_error *err)
{
    bm_str name = table->fields[field];
    size_t n = bm_manifest_n_inputs(f->manifest);
    for (size_t i = 0; i < n; i++) { /* rows come in input order: the search goes on where it was */
        size_t at = (*file + i) % n;
        const char *known = bm_manifest_input_at(f->manifest, at)->file;
        if (strlen(known) == name.len && memcmp(known, name.data, name.len) == 0) {
            *file = (uint32_t)at;
            return BM_OK;
        }
    }
    return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line,
                      "the file '%.*s' is no input of the report", (int)name.len, name.data);
}

/* A table that names records by file and line. */
typedef struct drop_table {
    const char *name;
    bm_table table;
    size_t file_column, line_column;
    bool optional;
} drop_table;

static bm_status load_rows(filter *f, const drop_table *what, bm_tsv_table *table, bm_error *err)
{
    uint32_t file = 0;
    bool end = false;
    bm_status status = bm_tsv_table_next(table, &end, err);
    for (; status == BM_OK && !end; status = bm_tsv_table_next(table, &end, err)) {
        drop next = {0};
        status = find_file(f, table, what->file_column, &file, err);
        if (status == BM_OK)
            status = bm_tsv_table_uint(table, what->line_column, &next.line, err);
        void *drops = f->drops;
        if (status == BM_OK)
            status = bm_grow(&drops, &f->cap_drops, f->n_drops + 1, sizeof *f->drops, err);
        f->drops = drops;
        if (status != BM_OK)
            return status;
        next.file = file;
        next.order = f->n_drops;
        if (what->table == BM_TABLE_REMOVED)
            next.id_hash =
                XXH3_64bits(table->fields[BM_REMOVED_ID].data, table->fields[BM_REMOVED_ID].len);
        f->drops[f->n_drops++] = next;
    }
    return status;
}

static bm_status load_drops(filter *f, const drop_table *what, bm_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", f->path, what->name);
    bm_tsv_table table;
    bm_error missing = {0};
    bm_status status = bm_tsv_table_open(path, bm_table_header(what->table), &table, &missing);
    if (status != BM_OK) {
        if (what->optional && status == BM_ERR_FORMAT && missing.line == 0)
            return BM_OK;
        if (err != NULL)
            *err = missing;
        return status;
    }
    status = load_rows(f, what, &table, err);
    bm_tsv_table_close(&table);
    return status;
}

static int by_place(const void *x, const void *y)
{
    const drop *a = x, *b = y;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void sort(drop *drops, size_t n)
{
    if (n > 1)
        qsort(drops, n, sizeof *drops, by_place);
}

static bm_status load_all_drops(filter *f, bm_error *err)
{
    static const drop_table removed = {BM_FILE_REMOVED, BM_TABLE_REMOVED, BM_REMOVED_FILE,
                                       BM_REMOVED_LINE, false};
    static const drop_table skipped = {BM_FILE_SKIPPED, BM_TABLE_SKIPPED, BM_SKIPPED_FILE,
                                       BM_SKIPPED_LINE, true};
    bm_status status = load_drops(f, &removed, err);
    f->n_removed = f->n_drops;
    if (status == BM_OK)
        status = load_drops(f, &skipped, err);
    f->next_skipped = f->n_removed;
    sort(f->drops, f->by_id ? f->n_removed : f->n_drops);
    if (f->by_id && f->n_drops > 0)
        sort(f->drops + f->n_removed, f->n_drops - f->n_removed);
    return status;
}

/* --- copying --- */

static bool is_at(const drop *at, uint32_t file, uint64_t line)
{
    return at->file == file && at->line == line;
}

static bool dropped(filter *f, uint32_t file, uint64_t line)
{
    if (f->next >= f->n_drops || !is_at(&f->drops[f->next], file, line))
        return false;
    f->next++;
    return true;
}

/* The id of the record as dedup had it, hashed: numbered, where it repeats. */
static bm_status hash_id(filter *f, const bm_record *record, uint64_t *hash, bm_error *err)
{
    bm_doc_table *docs = &f->job->context.docs;
    *hash = XXH3_64bits(record->id.data, record->id.len);
    if (!docs->number_duplicates)
        return BM_OK;
    const bm_doc_row row = {.file = record->file, .line = record->line};
    bm_status status =
        bm_doc_table_add(docs, &row, (bm_doc_id){record->id, *hash},
                         bm_input_set_source(f->job->context.inputs.set, record->file)->name, err);
    if (status != BM_OK)
        return status;
    bm_str id = bm_doc_table_id(docs, docs->n - 1);
    *hash = XXH3_64bits(id.data, id.len);
    return BM_OK;
}

static bm_status dropped_by_id(filter *f, const bm_record *record, bool *drop_it, bm_error *err)
{
    uint64_t hash = 0;
    size_t *next = record->bad ? &f->next_skipped : &f->next;
    size_t end = record->bad ? f->n_drops : f->n_removed;
    bm_status status = record->bad ? BM_OK : hash_id(f, record, &hash, err);
    *drop_it = status == BM_OK && *next < end && f->drops[*next].id_hash == hash &&
               is_at(&f->drops[*next], record->file, record->line);
    *next += *drop_it;
    return status;
}

static void count_record(filter *f, bool keep)
{
    f->job->context.counts.records++;
    f->job->context.counts.kept += keep;
}

static bm_status keep_record(void *ctx, const bm_record *record, bool *keep, bm_error *err)
{
    filter *f = ctx;
    bm_status status = BM_OK;
    bool drop_it;
    if (f->by_id)
        status = dropped_by_id(f, record, &drop_it, err);
    else
        drop_it = dropped(f, record->file, record->line);
    *keep = !drop_it;
    count_record(f, *keep);
    return status;
}

/* Formats without records: `files`, one document a file, by its number and line 1. */
static bm_status keep_ids(filter *f, bm_kept_writer *writer, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < bm_input_set_count(f->job->context.inputs.set); i++) {
        const char *name = bm_input_set_source(f->job->context.inputs.set, i)->name;
        const bool keep = !dropped(f, (uint32_t)i, 1);
        count_record(f, keep);
        if (keep)
            status = bm_kept_writer_id(writer, (bm_str){name, strlen(name)}, err);
    }
    return status;
}

static bm_status copy_kept(filter *f, bm_out_dir *dir, bm_error *err)
{
    bm_job_context *context = &f->job->context;
    bm_kept_writer *writer = NULL;
    bm_status status = bm_kept_writer_open(dir, context->inputs.set,
                                           context->settings->results.kept, &writer, err);
    if (status != BM_OK)
        return status;
    bool ids = bm_kept_writer_wants_ids(writer);
    status = ids ? keep_ids(f, writer, err) : bm_kept_copy(context, writer, keep_record, f, err);
    if (status == BM_OK)
        status = bm_kept_writer_finish(writer, err);
    bm_kept_writer_close(writer);
    if (status == BM_OK && !ids)
        status = bm_recipe_check_inputs(&f->recipe, context->inputs.set, err);
    const size_t found = f->by_id ? f->next + f->next_skipped - f->n_removed : f->next;
    if (status == BM_OK && found != f->n_drops)
        status = bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(f->manifest), 0,
                            "%zu of its %zu removed and skipped records are not in the inputs",
                            f->n_drops - found, f->n_drops);
    return status;
}

static bm_status write_all(filter *f, bm_out_dir *dir, bm_error *err)
{
    bm_counts *counts = &f->job->context.counts;
    bm_job_context_plan(&f->job->context, BM_START_DOCUMENTS);
    bm_job_context_stage(&f->job->context, BM_STAGE_COPY, "bytes");
    bm_status status = copy_kept(f, dir, err);
    counts->removed = f->n_removed;
    counts->skipped = f->n_drops - f->n_removed;
    counts->documents = counts->kept + f->n_removed;
    return status == BM_OK
               ? bm_job_finish(f->job, &(bm_job_ending){.dir = dir, .report_name = BM_FILE_REPORT},
                               err)
               : status;
}

/* --- opening --- */

/* How dedup read its inputs; and the inputs given now, where there are some. */
static bm_status settle(filter *f, const bm_filter_options *options, bm_settings *settings,
                        bm_error *err)
{
    const char *path = f->path;
    bm_status status = bm_manifest_open_dir(path, &f->manifest, err);
    if (status == BM_OK && strcmp(bm_manifest_kind(f->manifest), "dedup") != 0)
        status =
            bm_fail_at(err, BM_ERR_FORMAT, path, 0, "it holds '%s' (a directory that dedup wrote)",
                       bm_manifest_kind(f->manifest));
    f->recipe = (bm_recipe){.manifests = (const bm_manifest *const *)&f->manifest, .n = 1};
    if (status == BM_OK)
        status = bm_recipe_settle(&f->recipe, settings, err);
    if (status == BM_OK && !bm_format_has_text(settings->input.format))
        status = bm_fail_at(err, BM_ERR_USAGE, path, 0,
                            "there are no records to copy (inputs of hashes)");
    if (status == BM_OK && (options->n_paths > 0 || options->files_from != NULL)) {
        settings->input.paths = options->paths;
        settings->input.n_paths = options->n_paths;
        settings->input.files_from = options->files_from;
        settings->input.files_from_nul = options->files_from_nul;
    }
    f->by_id = settings->input.format == BM_FORMAT_JSON;
    return status == BM_OK ? load_all_drops(f, err) : status;
}

static bm_status run_job(filter *f, const bm_settings *settings, bm_summary **out, bm_error *err)
{
    bm_job job;
    bm_out_dir *dir = NULL;
    bm_status status = bm_job_open(settings, &job, err);
    if (status != BM_OK)
        return status;
    f->job = &job;
    status = bm_job_begin(&job, BM_STEP_INPUTS, err);
    const size_t n = status == BM_OK ? bm_input_set_count(job.context.inputs.set) : 0;
    if (status == BM_OK && n != bm_manifest_n_inputs(f->manifest))
        status =
            bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(f->manifest), 0,
                       "it names %zu inputs, %zu are given", bm_manifest_n_inputs(f->manifest), n);
    if (status == BM_OK)
        status = bm_out_dir_open(settings->output.path, bm_out_existing_of(settings->output.force),
                                 &dir, err);
    if (status == BM_OK)
        status = write_all(f, dir, err);
    bm_out_dir_close(dir);
    return bm_job_close(&job, status, out);
}

/* The directory and the inputs given: no output may be one of them. */
static bm_status check_outputs(const bm_filter_options *options, const bm_settings *settings,
                               bm_error *err)
{
    const char **paths = bm_alloc(options->n_paths + 1, sizeof *paths);
    if (paths == NULL)
        return bm_fail_nomem(err, (options->n_paths + 1) * sizeof *paths);
    paths[0] = options->path;
    for (size_t i = 0; i < options->n_paths; i++)
        paths[i + 1] = options->paths[i];
    bm_status status = bm_job_context_check_outputs(settings, paths, options->n_paths + 1, err);
    bm_free(paths);
    return status;
}

bm_status bm_job_filter(const bm_filter_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    bm_status status = bm_settings_of_filter(options, &settings, err);
    if (status != BM_OK)
        return status;
    filter f = {.path = options->path};
    status = check_outputs(options, &settings, err);
    if (status == BM_OK)
        status = settle(&f, options, &settings, err);
    if (status == BM_OK)
        status = run_job(&f, &settings, out, err);
    bm_recipe_reset(&f.recipe);
    bm_manifest_close(f.manifest);
    bm_free(f.drops);
    return status;
}
