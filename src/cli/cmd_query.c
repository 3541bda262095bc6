/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_query.c -- bandmill query: finds the documents of an index that are near-duplicates of
 * queries.
 *
 * Tests: tests/cli/cases/query.sh, tests/cli/cases/query_follow.sh */
#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"
#include "cli/options.h"

static void fill_options(cli_context *context, bm_query_options *options)
{
    const cli_settings *settings = &context->settings;
    bm_query_options_init(options);
    if (settings->index.targets.n == 0)
        options->path = settings->operands.items[0];
    options->targets = settings->index.targets.items;
    options->n_targets = settings->index.targets.n;
    options->input = settings->input;
    options->text = settings->text;
    options->sketch = settings->sketch;
    options->bands = settings->bands;
    options->verify = settings->match.verify;
    if (options->path != NULL && cli_was_given(settings, "threshold"))
        options->answers.threshold = settings->bands.threshold;
    options->answers.measure = settings->match.measure;
    options->answers.top = settings->index.top;
    options->answers.skip_same_id = settings->index.skip_same_id;
    options->follow = settings->index.follow;
    options->device = settings->device;
    options->resources = settings->resources;
    options->output = cli_job_output(context);
    options->write = settings->index.follow ? cli_write_now : cli_write;
    options->write_ctx = &context->console;
    options->json = settings->messages.json;
    options->callbacks = cli_callbacks(context);
    options->set_fields = cli_set_fields(settings);
}

static void report_answers(cli_context *context, const bm_counts *counts)
{
    char n[4][48];
    cli_report_number(&context->console, cli_format_count(counts->edges, n[3], sizeof n[3]),
                      "%s to %s; %s, all verified",
                      cli_format_of(counts->edges, "answer", n[0], sizeof n[0]),
                      cli_format_of(counts->documents, "query", n[1], sizeof n[1]),
                      cli_format_of(counts->candidates, "candidate", n[2], sizeof n[2]));
}

bm_status cli_run_query(cli_context *context, bm_error *err)
{
    bm_summary *summary = NULL;
    bm_query_options options;
    fill_options(context, &options);
    bm_status status = bm_job_query(&options, &summary, err);
    if (status != BM_NOT_FOUND)
        status = cli_end_job(context, status, err);
    else
        cli_meter_end(&context->meter);
    if (summary != NULL) {
        const bm_counts *counts = bm_summary_counts(summary);
        cli_report_details(context, summary);
        cli_report_read(context, counts);
        report_answers(context, counts);
        cli_report_not(context, "compared", counts);
        cli_report_end(context, "done", summary);
    }
    bm_summary_free(summary);
    return status;
}
