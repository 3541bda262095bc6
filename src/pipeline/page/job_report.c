/* job_report.c -- from a directory that dedup wrote, and its inputs, to one page.
 *
 *     report, tables, pairs -> what is to be shown -> inputs: digests, then texts -> the group -> the writer
 *
 * Files are walked and hardly held; memory is that of what is shown, of ids where groups are compared with what
 * other thresholds would give, and of one group.
 *
 * Tests: tests/unit/jobs/test_job_report.c, tests/cli/cases/report.sh, tests/reference/test_report.py */
#include <bandmill/report.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/meter.h"
#include "base/sized_struct.h"
#include "io/sources/batch_sources.h"
#include "model/option_defaults.h"
#include "pipeline/context/job_context.h"
#include "pipeline/context/recipe.h"
#include "pipeline/page/page_facts.h"
#include "pipeline/page/page_graph.h"
#include "pipeline/page/page_rows.h"
#include "pipeline/page/page_tables.h"
#include "pipeline/page/page_texts.h"
#include "pipeline/page/page_write.h"

#define TEXT_HELD_LEAST 8192u /* bytes of a text that are compared, even where fewer are shown */
#define TEXT_HELD_TIMES 4u
#define SHOWN_MAX       100000u

typedef struct reporter {
    const bm_report_options *options;
    bm_settings settings; /* as the report says, once it is settled */
    bm_weighed weighed;
    bm_manifest *manifest;
    bm_recipe recipe;
    bm_page_content content;
    bm_page_doc *members; /* of the group whose links are computed again; NULL: of none */
    bm_page_weigh weigh;
    uint64_t n_bytes;
} reporter;

static const bm_report_options report_defaults = {
    .groups = 20, .pairs = 20, .text_bytes = 2000, .resources = BM_RESOURCE_DEFAULTS};

void bm_report_options_init_sized(bm_report_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &report_defaults, sizeof report_defaults);
}

static bm_status check_options(const bm_report_options *o, bm_error *err)
{
    if (o->path == NULL)
        return bm_fail_field(err, "path", "no input given (a directory that dedup wrote)");
    if ((unsigned)o->form > BM_REPORT_JSON)
        return bm_enum_check("form", o->form, BM_REPORT_JSON + 1, err);
    if (o->output.path == NULL && o->write == NULL)
        return bm_fail_field(err, "write", "no place for the page given (`output` or `write`)");
    if (o->groups > SHOWN_MAX || o->pairs > SHOWN_MAX)
        return bm_fail_field(err, o->groups > SHOWN_MAX ? "groups" : "pairs",
                             "`%s` of more than %u", o->groups > SHOWN_MAX ? "groups" : "pairs",
                             SHOWN_MAX);
    return o->output.path == NULL
               ? BM_OK
               : bm_out_file_check(o->output.path, bm_out_existing_of(o->output.force), &o->path, 1,
                                   err);
}

/* The settings of a job that reads such a directory: those of explain. */
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

static void warn(const reporter *r, const char *message)
{
    bm_meter meter;
    bm_meter_init(&meter, &r->settings.callbacks);
    bm_meter_log(&meter, BM_LOG_WARNING, "%s", message);
    bm_meter_reset(&meter);
}

static void warn_of_gone(const reporter *r)
{
    char message[2400];
    const bm_page_content *c = &r->content;
    for (size_t i = 0; i < bm_manifest_n_inputs(c->manifest); i++) {
        if (c->sources[i].gone == NULL)
            continue;
        snprintf(message, sizeof message, "texts are missing: %s%s", c->sources[i].gone,
                 c->n_gone > 1 ? " (and others)" : "");
        warn(r, message);
        return;
    }
}

/* No output may be one of the inputs, wherever they are now. */
static bm_status check_outputs(const reporter *r, bm_error *err)
{
    const bm_page_content *c = &r->content;
    const size_t n = bm_manifest_n_inputs(c->manifest);
    const char **paths = bm_alloc(n + 1, sizeof *paths);
    size_t n_paths = 0;
    if (paths == NULL)
        return bm_fail_nomem(err, n * sizeof *paths);
    paths[n_paths++] = r->options->path;
    for (size_t i = 0; i < n; i++)
        if (c->sources[i].path != NULL)
            paths[n_paths++] = c->sources[i].path;
    const bm_status status = bm_job_context_check_outputs(&r->settings, paths, n_paths, err);
    bm_free(paths);
    return status;
}

/* Inputs that are what they were and cannot be read all the same (a reader of tables that is not there) leave the page
 * without texts. */
static bm_status read_wanted(reporter *r, bm_error *err)
{
    bm_page_content *c = &r->content;
    const size_t times = (size_t)c->options->text_bytes * TEXT_HELD_TIMES;
    bm_page_wanted wanted[3] = {{.ids = &c->ids,
                                 .docs = c->docs,
                                 .text_held = times > TEXT_HELD_LEAST ? times : TEXT_HELD_LEAST,
                                 .shingles = true}};
    size_t n = 1;
    bm_error why = {0};
    char message[2100];
    if (r->members != NULL)
        wanted[n++] = (bm_page_wanted){.ids = &c->graph.ids, .docs = r->members, .shingles = true};
    if (r->weigh.lengths != NULL)
        wanted[n++] = (bm_page_wanted){.ids = &r->weigh.ids, .lengths = r->weigh.lengths};
    bm_status status = bm_page_read_texts(&r->settings, c, wanted, n, &why);
    if (status == BM_ERR_INPUT || status == BM_ERR_IO || status == BM_ERR_FORMAT ||
        status == BM_ERR_USAGE) {
        bm_error_format(&why, message, sizeof message);
        warn(r, message);
        c->no_texts = bm_strdup(message);
        return c->no_texts != NULL ? BM_OK : bm_fail_nomem(err, strlen(message));
    }
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

static bm_status read_texts(reporter *r, bool wants_sets, bm_error *err)
{
    bm_page_content *c = &r->content;
    bm_status status = bm_page_weigh_ask_lengths(&r->weigh, err);
    if (status == BM_OK)
        status = bm_page_check_inputs(&r->settings, c, err);
    if (status == BM_OK)
        status = check_outputs(r, err);
    if (status == BM_OK && wants_sets) {
        r->members = bm_alloc_zero(c->graph.ids.n, sizeof *r->members);
        if (r->members == NULL)
            status = bm_fail_nomem(err, c->graph.ids.n * sizeof *r->members);
    }
    if (status == BM_OK)
        warn_of_gone(r);
    if (status == BM_OK && c->has_texts)
        status = read_wanted(r, err);
    return status == BM_OK && wants_sets ? bm_page_graph_link(&r->settings, c, r->members, err)
                                         : status;
}

/* --- the job --- */

static bm_status fill_content(reporter *r, bm_error *err)
{
    bm_page_content *c = &r->content;
    bool wants_sets = false;
    bm_status status = bm_page_read_facts(c, err);
    if (status == BM_OK)
        status = bm_recipe_settle(&r->recipe, &r->settings, err);
    if (status != BM_OK)
        return status;
    c->weighted = r->settings.text.weights != BM_WEIGHTS_NONE;
    c->has_texts = bm_format_has_text(r->settings.input.format);
    status = bm_page_read_tables(&r->settings, c, err);
    if (status == BM_OK)
        status = bm_page_read_rows(&r->settings, c, &r->weigh, err);
    if (status == BM_OK)
        status = bm_page_graph_load(&r->settings, c, &wants_sets, err);
    if (status == BM_OK)
        status = read_texts(r, wants_sets, err);
    if (status == BM_OK)
        status = bm_page_weigh_stars(&r->weigh, err);
    return status == BM_OK ? bm_page_graph_draw(c, err) : status;
}

static bm_status write_page(reporter *r, bm_error *err)
{
    const bm_report_options *o = r->options;
    bm_rows rows = {.write = o->write, .write_ctx = o->write_ctx};
    bm_status status = bm_rows_open(&rows, &o->output, err);
    if (status == BM_OK)
        status = o->form == BM_REPORT_JSON
                     ? bm_page_write_json(&r->content, &rows, &r->n_bytes, err)
                     : bm_page_write_html(&r->content, &rows, &r->n_bytes, err);
    return bm_rows_end(&rows, status, err);
}

static bm_status give_result(const reporter *r, bm_report_result *out, bm_error *err)
{
    bm_report_result result = {.bytes = r->n_bytes, .inputs_gone = r->content.n_gone};
    for (size_t i = 0; i < r->content.ids.n; i++) {
        result.shown += r->content.docs[i].found;
        result.missing += !r->content.docs[i].found;
    }
    return bm_sized_give(&result, BM_SIZED_TYPE(bm_report_result, inputs_gone), out, err);
}

static bm_status run_job(reporter *r, bm_report_result *out, bm_error *err)
{
    bm_status status =
        bm_manifest_open_dir(r->options->path, r->settings.memory, &r->manifest, err);
    if (status != BM_OK)
        return status;
    r->content.options = r->options;
    r->content.manifest = r->manifest;
    r->recipe = (bm_recipe){.manifests = (const bm_manifest *const *)&r->manifest, .n = 1};
    status = fill_content(r, err);
    if (status == BM_OK)
        status = write_page(r, err);
    if (status == BM_OK)
        status = give_result(r, out, err);
    for (size_t i = 0; r->members != NULL && i < r->content.graph.ids.n; i++) {
        bm_free(r->members[i].text);
        bm_free(r->members[i].hashes);
    }
    bm_free(r->members);
    bm_page_weigh_reset(&r->weigh);
    bm_page_content_reset(&r->content);
    bm_recipe_reset(&r->recipe);
    bm_manifest_close(r->manifest);
    return status;
}

bm_status bm_report(const bm_report_options *options, bm_report_result *out, bm_error *err)
{
    bm_report_options used = report_defaults;
    bm_status status =
        bm_sized_take(options, BM_SIZED_TYPE(bm_report_options, sources), &used, err);
    if (status == BM_OK)
        status = check_options(&used, err);
    if (status == BM_OK && out != NULL)
        status = bm_sized_check(out, BM_SIZED_TYPE(bm_report_result, inputs_gone), err);
    reporter r = {.options = &used};
    if (status == BM_OK)
        status = make_settings(&used, &r.settings, err);
    r.settings.recorded.weighed = &r.weighed;
    return status == BM_OK ? run_job(&r, out, err) : status;
}
