/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_index.c -- bandmill index: build, add, remove, info, check, compact.
 *
 * If the rows of --unique go to stdout, the summary is only a text for people, as for pairs.
 *
 * Tests: tests/cli/cases/index_usage.sh, tests/cli/cases/index_add.sh */
#include <string.h>

#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"
#include "cli/json_printer.h"
#include "cli/options.h"

/* --- what a job did --- */

/* Report how many documents a job added (if `reads`) or removed. */
static void report_index(cli_context *context, const bm_summary *summary, bool reads)
{
    const bm_index_counts *counts = &bm_summary_counts(summary)->results.index;
    const struct kind {
        uint64_t n;
        const char *one, *many;
    } kinds[] = {{counts->numbered, "was added under the next number, for its id was there",
                  "were added under the next number, for their ids were there"},
                 {counts->replaced, "was replaced by a document of the same id",
                  "were replaced by documents of the same id"},
                 {counts->passed_over, "was not added, for its id is there",
                  "were not added, for their ids are there"},
                 {counts->matched,
                  "was not added, for it reaches the threshold with one that is there",
                  "were not added, for they reach the threshold with one that is there"}};
    cli_sentence line = {0};
    char n[2][48];
    cli_format_count(reads ? counts->added : counts->removed, n[0], sizeof n[0]);
    cli_add_part(&line, "", "%s %s; the index holds %s", n[0], reads ? "added" : "removed",
                 cli_format_of(counts->documents, "document", n[1], sizeof n[1]));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].n > 0)
            cli_add_part(&line, "; ", "%s %s", cli_format_count(kinds[i].n, n[1], sizeof n[1]),
                         cli_verb_of(kinds[i].n, kinds[i].one, kinds[i].many));
    cli_report_number(&context->console, n[0], "%s", line.text);
}

/* End a job that returned `status`. `verb` says what the job did. */
static bm_status end_job(cli_context *context, const char *verb, bm_summary *summary,
                         bm_status status, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    const bool reads =
        settings->input.n_paths > 0 || settings->input.files_from || settings->index.follow;
    if (status == BM_NOT_FOUND)
        cli_meter_end(&context->meter);
    else
        status = cli_end_job(context, status, err);
    if (summary != NULL) {
        if (reads) {
            cli_report_details(context, summary);
            cli_report_read(context, bm_summary_counts(summary));
        }
        report_index(context, summary, reads);
        if (reads)
            cli_report_not(context, "signed", bm_summary_counts(summary));
        cli_report_end(context, verb, summary);
    }
    bm_summary_free(summary);
    return status;
}

/* --- jobs --- */

bm_status cli_run_index_build(cli_context *context, bm_error *err)
{
    cli_settings *settings = &context->settings;
    bm_summary *summary = NULL;
    bm_index_build_options options;
    settings->output.path = settings->operands.items[0];
    bm_index_build_options_init(&options);
    options.input = settings->input;
    options.text = settings->text;
    options.sketch = settings->sketch;
    options.bands = settings->bands;
    options.store = settings->index.store;
    options.device = settings->device;
    options.resources = settings->resources;
    options.output = cli_job_output(context);
    options.callbacks = cli_callbacks(context);
    options.set_fields = cli_set_fields(settings);
    options.sources = settings->files.sources;
    bm_status status = bm_job_index_build(&options, &summary, err);
    return end_job(context, "built", summary, status, err);
}

bm_status cli_run_index_add(cli_context *context, bm_error *err)
{
    cli_settings *settings = &context->settings;
    bm_summary *summary = NULL;
    bm_index_add_options options;
    if (!settings->index.unique) /* with `unique`, stdout carries rows */
        settings->output.path = settings->operands.items[0];
    bm_index_add_options_init(&options);
    options.path = settings->operands.items[0];
    options.input = settings->input;
    options.text = settings->text;
    options.sketch = settings->sketch;
    options.bands.bands = settings->bands.bands;
    options.bands.rows = settings->bands.rows;
    options.device = settings->device;
    options.resources = settings->resources;
    options.output = cli_job_output(context);
    options.unique = settings->index.unique;
    options.threshold = cli_was_given(settings, "threshold") ? settings->bands.threshold : 0;
    options.follow = settings->index.follow;
    options.resume = settings->results.resume;
    options.json = settings->messages.json;
    options.write = settings->index.follow ? cli_write_now : cli_write;
    options.write_ctx = &context->console;
    options.callbacks = cli_callbacks(context);
    options.set_fields = cli_set_fields(settings);
    options.sources = settings->files.sources;
    bm_status status = bm_job_index_add(&options, &summary, err);
    return end_job(context, "added", summary, status, err);
}

bm_status cli_run_index_remove(cli_context *context, bm_error *err)
{
    cli_settings *settings = &context->settings;
    bm_summary *summary = NULL;
    bm_index_remove_options options;
    settings->output.path = settings->operands.items[0];
    bm_index_remove_options_init(&options);
    options.path = settings->operands.items[0];
    options.ids = settings->operands.items + 1;
    options.n_ids = settings->operands.n - 1;
    options.ids_from = settings->index.ids;
    options.resources = settings->resources;
    options.output = cli_job_output(context);
    options.callbacks = cli_callbacks(context);
    settings->input.n_paths = 0;
    bm_status status = bm_job_index_remove(&options, &summary, err);
    return end_job(context, "removed", summary, status, err);
}

bm_status cli_run_index_compact(cli_context *context, bm_error *err)
{
    cli_settings *settings = &context->settings;
    bm_summary *summary = NULL;
    bm_index_compact_options options;
    settings->output.path = settings->operands.items[0];
    bm_index_compact_options_init(&options);
    options.path = settings->operands.items[0];
    options.resources = settings->resources;
    options.output = cli_job_output(context);
    options.callbacks = cli_callbacks(context);
    settings->input.n_paths = 0;
    bm_status status = bm_job_index_compact(&options, &summary, err);
    return end_job(context, "compacted", summary, status, err);
}

/* --- what an index contains --- */

bm_status cli_run_index_info(cli_context *context, bm_error *err)
{
    char *json = NULL;
    bm_status status = bm_index_inspect(context->settings.operands.items[0], &json, err);
    if (status != BM_OK)
        return status;
    if (context->settings.messages.json)
        cli_write_json(&context->console, json, strlen(json));
    else
        cli_print_json(&context->console, json);
    bm_string_free(json);
    return cli_finish(&context->console, err);
}

/* Prints faults as they are found: each as a line, or as an element of a JSON list. */
typedef struct wrong_list {
    cli_context *context;
    size_t n;
} wrong_list;

static void on_wrong(void *ctx, const char *what)
{
    wrong_list *list = ctx;
    cli_console *console = &list->context->console;
    if (list->context->settings.messages.json) {
        cli_print(console, list->n == 0 ? "" : ",");
        cli_json_string(console->out, what);
    } else {
        cli_print_text(console, what, strlen(what));
        cli_print(console, "\n");
    }
    list->n++;
}

bm_status cli_run_index_check(cli_context *context, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    wrong_list list = {.context = context};
    bm_index_check_options options;
    bm_index_check_options_init(&options);
    options.path = settings->operands.items[0];
    options.resources = settings->resources;
    options.wrong = on_wrong;
    options.wrong_ctx = &list;
    options.callbacks = cli_callbacks(context);
    if (settings->messages.json)
        cli_print(&context->console, "{\"schema\":1,\"wrong\":[");
    bm_status status = bm_job_index_check(&options, err);
    cli_meter_end(&context->meter);
    if (settings->messages.json)
        cli_print(&context->console, "],\"sound\":%s}\n", status == BM_OK ? "true" : "false");
    status = cli_finish_after(&context->console, status, err);
    if (status != BM_OK)
        return status;
    cli_report_note(&context->console, "%s is sound", options.path);
    return BM_OK;
}
