/* job_filter.c -- the kept documents of a directory that `dedup` wrote, from its inputs: finding
 * and removing as two steps.
 *
 * removed.tsv and skipped.tsv name records by file and line, in input order; the inputs are walked
 * once and what they name is left out. Inputs stand for those of the report by position, so they
 * may have moved; their digests must be the same. */
#include <bandmill/job.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "io/output/manifest.h"
#include "pipeline/output/kept_pass.h"
#include "pipeline/context/recipe.h"
#include "pipeline/output/report.h"
#include "io/results/tsv_table.h"

typedef struct drop {
    uint32_t file;
    uint64_t line;
} drop;

typedef struct filter {
    bm_job_context *run;
    bm_manifest *manifest;
    bm_recipe recipe;
    drop *drops; /* ordered by file, then line */
    size_t n_drops, cap_drops, next;
    uint64_t n_removed;
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

static bm_status load_drops(filter *f, const char *name, const char *header, size_t file_field,
                            bool optional, bm_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", f->run->job->input.paths[0], name);
    bm_tsv_table table;
    bm_error missing = {0};
    bm_status status = bm_tsv_table_open(path, header, &table, &missing);
    if (status != BM_OK) {
        if (optional && status == BM_ERR_FORMAT && missing.line == 0)
            return BM_OK;
        if (err != NULL)
            *err = missing;
        return status;
    }
    uint32_t file = 0;
    bool end = false;
    for (;;) {
        drop next = {0};
        status = bm_tsv_table_next(&table, &end, err);
        if (status != BM_OK || end)
            break;
        status = find_file(f, &table, file_field, &file, err);
        if (status == BM_OK)
            status = bm_tsv_table_uint(&table, file_field + 1, &next.line, err);
        void *drops = f->drops;
        if (status == BM_OK)
            status = bm_grow(&drops, &f->cap_drops, f->n_drops + 1, sizeof *f->drops, err);
        f->drops = drops;
        if (status != BM_OK)
            break;
        next.file = file;
        f->drops[f->n_drops++] = next;
    }
    bm_tsv_table_close(&table);
    return status;
}

static int by_place(const void *x, const void *y)
{
    const drop *a = x, *b = y;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static bm_status load_all_drops(filter *f, bm_error *err)
{
    bm_status status =
        load_drops(f, "removed.tsv", "id\tkept\tjaccard\treason\tfile\tline", 4, false, err);
    f->n_removed = f->n_drops;
    if (status == BM_OK)
        status = load_drops(f, "skipped.tsv", "file\tline\treason", 0, true, err);
    if (status == BM_OK && f->n_drops > 1)
        qsort(f->drops, f->n_drops, sizeof *f->drops, by_place);
    return status;
}

/* --- copying --- */

static bool dropped(filter *f, uint32_t file, uint64_t line)
{
    drop here = {file, line};
    if (f->next >= f->n_drops || by_place(&f->drops[f->next], &here) != 0)
        return false;
    f->next++;
    return true;
}

static bm_status keep_record(void *ctx, uint32_t file, uint64_t line, bool *keep, bm_error *err)
{
    (void)err;
    filter *f = ctx;
    *keep = !dropped(f, file, line);
    f->run->counts.records++;
    f->run->counts.kept += *keep;
    return BM_OK;
}

/* Formats without records: `files`, one document a file, by its number and line 1. */
static bm_status keep_ids(filter *f, bm_kept_writer *writer, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < bm_input_set_count(f->run->inputs); i++) {
        bool keep;
        const char *name = bm_input_set_source(f->run->inputs, i)->name;
        keep_record(f, (uint32_t)i, 1, &keep, NULL);
        if (keep)
            status = bm_kept_writer_id(writer, (bm_str){name, strlen(name)}, err);
    }
    return status;
}

static bm_status copy_kept(filter *f, bm_out_dir *dir, bm_error *err)
{
    bm_job_context *run = f->run;
    const bm_manifest *manifest = f->manifest;
    bm_kept_writer *writer = NULL;
    bm_status status = bm_kept_writer_open(dir, run->inputs, run->job->kept, &writer, err);
    if (status != BM_OK)
        return status;
    bool ids = bm_kept_writer_wants_ids(writer);
    status = ids ? keep_ids(f, writer, err) : bm_kept_copy(run, writer, keep_record, f, err);
    if (status == BM_OK)
        status = bm_kept_writer_finish(writer, err);
    bm_kept_writer_close(writer);
    if (status == BM_OK && !ids)
        status = bm_recipe_check_inputs(&manifest, 1, run->inputs, err);
    if (status == BM_OK && f->next != f->n_drops)
        status = bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                            "%zu of its %zu removed and skipped records are not in the inputs",
                            f->n_drops - f->next, f->n_drops);
    return status;
}

static bm_status write_all(filter *f, bm_out_dir *dir, bm_summary **out, bm_error *err)
{
    const char *digests;
    bm_job_context *run = f->run;
    bm_job_context_stage(run, "copy", "bytes");
    bm_status status = copy_kept(f, dir, err);
    run->counts.removed = f->n_removed;
    run->counts.skipped = f->n_drops - f->n_removed;
    run->counts.documents = run->counts.kept + f->n_removed;
    if (status == BM_OK)
        status = bm_out_dir_finish(dir, err);
    if (status == BM_OK)
        status = bm_out_dir_digests(dir, &digests, err);
    if (status == BM_OK)
        status = bm_report_make(run, NULL, digests, out, err);
    if (status == BM_OK)
        status = bm_report_write(run, *out, dir, "report.json", err);
    return status == BM_OK ? bm_out_dir_commit(dir, err) : status;
}

/* --- opening --- */

/* The job that dedup ran, with the inputs given now where there are some. */
static bm_status open_recipe(filter *f, bm_error *err)
{
    const bm_job *job = f->run->job;
    const char *path = job->input.paths[0];
    bm_status status = bm_manifest_open_dir(path, &f->manifest, err);
    if (status == BM_OK && strcmp(bm_manifest_kind(f->manifest), "dedup") != 0)
        status =
            bm_fail_at(err, BM_ERR_FORMAT, path, 0, "it holds '%s' (a directory that dedup wrote)",
                       bm_manifest_kind(f->manifest));
    const bm_manifest *manifest = f->manifest;
    if (status == BM_OK)
        status = bm_recipe_make(job, &manifest, 1, &f->recipe, err);
    if (status == BM_OK && f->recipe.job.input.format == BM_FORMAT_HASHES)
        status = bm_fail_at(err, BM_ERR_USAGE, path, 0,
                            "there are no records to copy (inputs of hashes)");
    if (status == BM_OK && (job->input.n_paths > 1 || job->input.files_from != NULL)) {
        f->recipe.job.input.paths = job->input.paths + 1;
        f->recipe.job.input.n_paths = job->input.n_paths - 1;
        f->recipe.job.input.files_from = job->input.files_from;
        f->recipe.job.input.files_from_nul = job->input.files_from_nul;
    }
    return status;
}

static bm_status run_filter(filter *f, bm_summary **out, bm_error *err)
{
    bm_job_context *run = f->run;
    const bm_job *job = run->job;
    bm_out_dir *dir = NULL;
    bm_status status = bm_out_dir_check(job->output, bm_out_existing_of(job->force),
                                        job->input.paths, job->input.n_paths, err);
    if (status == BM_OK)
        status = open_recipe(f, err);
    if (status == BM_OK)
        status = load_all_drops(f, err);
    if (status != BM_OK)
        return status;
    run->job = &f->recipe.job;
    run->sketch = run->job->sketch;
    status = bm_job_context_inputs(run, false, true, err);
    if (status == BM_OK && bm_input_set_count(run->inputs) != bm_manifest_n_inputs(f->manifest))
        status = bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(f->manifest), 0,
                            "it names %zu inputs, %zu are given", bm_manifest_n_inputs(f->manifest),
                            bm_input_set_count(run->inputs));
    if (status == BM_OK)
        status = bm_out_dir_open(run->job->output, bm_out_existing_of(run->job->force), &dir, err);
    if (status == BM_OK)
        status = write_all(f, dir, out, err);
    bm_out_dir_close(dir);
    return status;
}

bm_status bm_job_filter(const bm_job *job, bm_summary **out, bm_error *err)
{
    bm_job_context run;
    bm_summary *summary = NULL;
    if (job->output == NULL)
        return bm_fail(err, BM_ERR_USAGE, "no output given (-o DIR)");
    if (job->input.n_paths == 0)
        return bm_fail(err, BM_ERR_USAGE,
                       "no input given (a directory that dedup wrote, then its inputs)");
    if (job->kept == BM_KEPT_NO)
        return bm_fail(err, BM_ERR_USAGE, "--kept no leaves nothing to do (same, none, gz or zst)");
    bm_status status = bm_job_context_open(job, "filter", &run, err);
    if (status != BM_OK)
        return status;
    filter f = {.run = &run};
    status = run_filter(&f, &summary, err);
    bm_recipe_reset(&f.recipe);
    bm_manifest_close(f.manifest);
    bm_free(f.drops);
    run.job = job;
    bm_job_context_close(&run);
    if (status != BM_OK) {
        bm_summary_free(summary);
        return status;
    }
    *out = summary;
    return BM_OK;
}
