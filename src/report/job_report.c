/* SPDX-License-Identifier: Apache-2.0 */
/* job_report.c -- turns a directory that dedup wrote and its inputs into one page.
 *
 *     report, tables, pairs -> facts to show -> inputs: digests, then texts -> the group
 *                           -> JSON or the page
 *
 * Files are read row by row, not loaded. Memory has the parts that are shown and one group. If
 * groups are compared with groups at other thresholds, memory also has ids.
 *
 * Tests: tests/unit/jobs/test_job_report.c, tests/cli/cases/report.sh,
 * tests/reference/test_report.py */
#include <bandmill/report.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/meter.h"
#include "base/sized_struct.h"
#include "sources/batch_sources.h"
#include "model/option_words.h"
#include "job/job_context.h"
#include "job/recipe.h"
#include "report/page.h"

#define SHOWN_MAX 100000u

BM_OPTIONS_INIT(report, .groups = 20, .pairs = 20, .text_bytes = 2000, .sample = 20,
                .sample_seed = 1, .resources = BM_RESOURCE_DEFAULTS)

static bm_status check_options(const bm_report_options *o, bm_error *err)
{
    if (o->path == NULL)
        return bm_fail_field(err, "path", "no input given (a directory that dedup wrote)");
    if ((unsigned)o->form > BM_REPORT_JSON)
        return bm_enum_check("form", o->form, BM_REPORT_JSON + 1, err);
    if (o->output.path == NULL && o->write == NULL)
        return bm_fail_field(err, "write", "no place for the page given (`output` or `write`)");
    const char *many = o->groups > SHOWN_MAX   ? "groups"
                       : o->pairs > SHOWN_MAX  ? "pairs"
                       : o->sample > SHOWN_MAX ? "sample"
                                               : NULL;
    if (many != NULL)
        return bm_fail_field(err, many, "`%s` of more than %u", many, SHOWN_MAX);
    return o->output.path == NULL
               ? BM_OK
               : bm_out_file_check(o->output.path, bm_out_existing_of(o->output.force), &o->path, 1,
                                   err);
}

/* Make the settings for reading the directory and its inputs: those of an `explain` job with the
 * same options. */
static bm_status make_settings(const bm_report_options *o, bm_settings *out, bm_error *err)
{
    bm_explain_options like;
    bm_explain_options_init(&like);
    like.path = o->path;
    like.output = o->output;
    like.resources = o->resources;
    like.callbacks = o->callbacks;
    like.sources = o->sources;
    return bm_settings_of_explain(&like, out, err);
}

/* --- texts --- */

static void warn(const bm_page *p, const char *message, const char *more)
{
    bm_meter meter;
    bm_meter_init(&meter, &p->settings->callbacks);
    bm_meter_log(&meter, BM_LOG_WARNING, "%s%s", message, more);
    bm_meter_reset(&meter);
}

static void warn_of_gone(const bm_page *p)
{
    char message[2400];
    for (size_t i = 0; i < bm_manifest_n_inputs(p->manifest); i++) {
        if (p->sources[i].gone == NULL)
            continue;
        snprintf(message, sizeof message, "texts are missing: %s", p->sources[i].gone);
        warn(p, message, p->n_gone > 1 ? " (and others)" : "");
        return;
    }
}

/* Check that no output is the directory, the file of labels, or one of the inputs at their current
 * paths. */
static bm_status check_outputs(const bm_page *p, bm_error *err)
{
    const size_t n = bm_manifest_n_inputs(p->manifest);
    const char **paths = NULL;
    size_t n_paths = 0;
    BM_TRY(bm_new(&paths, n + 2, err));
    paths[n_paths++] = p->options->path;
    if (p->options->sample_labels != NULL)
        paths[n_paths++] = p->options->sample_labels;
    for (size_t i = 0; i < n; i++)
        if (p->sources[i].path != NULL)
            paths[n_paths++] = p->sources[i].path;
    const bm_status status = bm_job_context_check_outputs(p->settings, paths, n_paths, err);
    bm_free(paths);
    return status;
}

/* Read the texts. If unchanged inputs cannot be read, for example because the table library is
 * missing, the page has no texts. */
static bm_status read_texts(bm_page *p, bm_error *err)
{
    bm_error why = {0};
    char message[2100];
    const bm_status status = bm_page_read_texts(p, &why);
    if (status == BM_ERR_INPUT || status == BM_ERR_IO || status == BM_ERR_FORMAT ||
        status == BM_ERR_USAGE) {
        bm_error_format(&why, message, sizeof message);
        warn(p, message, "");
        return bm_copy_text(message, &p->no_texts, err);
    }
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

/* --- the job --- */

static bm_status fill_overlap(bm_page *p, bm_error *err)
{
    if (p->options->sample_labels != NULL)
        return bm_fail_field(
            err, "sample_labels",
            "`sample_labels` of %s, which overlap wrote: nothing of it is a sample",
            p->options->path);
    BM_TRY(bm_page_overlap_tables(p, err));
    BM_TRY(bm_page_check_inputs(p, err));
    BM_TRY(check_outputs(p, err));
    warn_of_gone(p);
    BM_TRY(bm_page_overlap_items(p, err));
    if (p->overlap.no_texts != NULL)
        warn(p, "texts of the items are missing: ", p->overlap.no_texts);
    BM_TRY(read_texts(p, err));
    return bm_page_overlap_end(p, err);
}

static bm_status fill_units(bm_page *p, bm_error *err)
{
    if (p->options->sample_labels != NULL)
        return bm_fail_field(err, "sample_labels",
                             "`sample_labels` of %s, which has parts of documents: nothing of it "
                             "is a sample",
                             p->options->path);
    BM_TRY(bm_page_units_tables(p, err));
    BM_TRY(bm_page_check_inputs(p, err));
    BM_TRY(check_outputs(p, err));
    warn_of_gone(p);
    return read_texts(p, err);
}

static bm_status fill(bm_page *p, bm_recipe *recipe, bm_settings *settings, bm_error *err)
{
    BM_TRY(bm_page_read_facts(p, err));
    BM_TRY(bm_recipe_apply(recipe, settings, err));
    p->weighted = settings->text.weights != BM_WEIGHTS_NONE;
    p->has_texts = bm_format_has_text(settings->input.format);
    if (p->overlap.is)
        return fill_overlap(p, err);
    if (p->units.is)
        return fill_units(p, err);
    BM_TRY(bm_page_read_tables(p, err));
    BM_TRY(bm_page_read_labels(p, err));
    BM_TRY(bm_page_graph_load(p, err));
    BM_TRY(bm_page_check_inputs(p, err));
    BM_TRY(check_outputs(p, err));
    warn_of_gone(p);
    if (p->has_texts)
        BM_TRY(read_texts(p, err));
    BM_TRY(bm_page_graph_link(p, err));
    BM_TRY(bm_page_what_if_stars(p, err));
    return bm_page_graph_draw(p, err);
}

static bm_status write_page(const bm_page *p, uint64_t *n_bytes, bm_error *err)
{
    const bm_report_options *o = p->options;
    bm_rows rows = {.write = o->write, .write_ctx = o->write_ctx};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_rows_open(&rows, &o->output, err));
    status = o->form == BM_REPORT_JSON ? bm_page_write_json(p, &rows, n_bytes, err)
                                       : bm_page_write_html(p, &rows, n_bytes, err);
out:
    return bm_rows_end(&rows, status, err);
}

static bm_status run_job(const bm_report_options *options, bm_settings *settings,
                         bm_report_result *out, bm_error *err)
{
    bm_manifest *manifest;
    bm_report_result result = {0};
    BM_TRY(bm_manifest_open_dir(options->path, settings->memory, &manifest, err));
    bm_page page = {.options = options, .settings = settings, .manifest = manifest};
    bm_recipe recipe = {.manifests = (const bm_manifest *const *)&manifest, .n = 1};
    bm_status status = BM_OK;
    BM_TRY_OUT(fill(&page, &recipe, settings, err));
    BM_TRY_OUT(write_page(&page, &result.bytes, err));
    result.inputs_gone = page.n_gone;
    for (size_t i = 0; i < page.ids.n; i++) {
        result.shown += page.docs[i].found;
        result.missing += !page.docs[i].found;
    }
    status = bm_sized_write(&result, BM_SIZED_TYPE(bm_report_result, inputs_gone), out, err);
out:
    bm_page_overlap_reset(&page.overlap);
    bm_page_units_reset(&page.units);
    bm_page_reset(&page);
    bm_recipe_reset(&recipe);
    bm_manifest_close(manifest);
    return status;
}

bm_status bm_report(const bm_report_options *options, bm_report_result *out, bm_error *err)
{
    bm_report_options used = report_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_report_options, stream), &used, err));
    BM_TRY(check_options(&used, err));
    if (out != NULL)
        BM_TRY(bm_sized_check(out, BM_SIZED_TYPE(bm_report_result, inputs_gone), err));
    bm_settings settings;
    bm_weighed weighed = {0};
    BM_TRY(make_settings(&used, &settings, err));
    settings.recorded.weighed = &weighed;
    return run_job(&used, &settings, out, err);
}
