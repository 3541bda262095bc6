/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_pairs.c -- bandmill pairs: lists the pairs at or above a threshold.
 *
 * Tests: tests/cli/cases/pairs.sh */
#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"
#include "cli/options.h"

static void fill_options(cli_context *context, bm_pairs_options *options)
{
    const cli_settings *settings = &context->settings;
    bm_pairs_options_init(options);
    options->input = settings->input;
    options->text = settings->text;
    options->sketch = settings->sketch;
    options->bands = settings->bands;
    options->candidates = settings->match.candidates;
#define OF_PAIRS(member, given, taken) options->member = settings->given;
#include "options/rows.def"
    options->device = settings->device;
    options->resources = settings->resources;
    options->output = cli_job_output(context);
    options->write = cli_write;
    options->write_ctx = &context->console;
    options->json = settings->messages.json;
    options->callbacks = cli_callbacks(context);
    options->set_fields = cli_set_fields(settings);
    options->sources = settings->files.sources;
}

bm_status cli_run_pairs(cli_context *context, bm_error *err)
{
    bm_summary *summary = NULL;
    bm_pairs_options options;
    fill_options(context, &options);
    const bm_status status = cli_end_job(context, bm_job_pairs(&options, &summary, err), err);
    if (summary != NULL) {
        const bm_counts *counts = bm_summary_counts(summary);
        cli_report_details(context, summary);
        cli_report_candidates(context, counts);
        cli_report_read(context, counts);
        cli_report_pairs(context, counts);
        cli_report_not(context, "compared", counts);
        cli_report_end(context, "done", summary);
    }
    bm_summary_free(summary);
    return status;
}
