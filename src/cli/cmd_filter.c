/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_filter.c -- bandmill filter: writes the documents that an earlier dedup kept, or all
 * documents with their groups.
 *
 * Tests: tests/cli/cases/dedup.sh */
#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"

/* The report of the dedup directory decides how inputs are read. Of the options for inputs, only
 * those that choose files have an effect; the others are accepted and ignored. */
bm_status cli_run_filter(cli_context *context, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    bm_summary *summary = NULL;
    bm_filter_options options;
    bm_filter_options_init(&options);
    options.path = settings->operands.items[0];
    options.paths = settings->operands.items + 1;
    options.n_paths = settings->operands.n - 1;
    options.files_from = settings->input.files_from;
    options.files_from_nul = settings->input.files_from_nul;
    options.include = settings->input.patterns.include;
    options.n_include = settings->input.patterns.n_include;
    options.exclude = settings->input.patterns.exclude;
    options.n_exclude = settings->input.patterns.n_exclude;
#define OF_FILTER(member, given, taken) options.member = settings->given;
#include "options/rows.def"
    options.resources = settings->resources;
    options.output = cli_job_output(context);
    options.callbacks = cli_callbacks(context);
    options.sources = settings->files.sources;
    const bm_status status = cli_end_job(context, bm_job_filter(&options, &summary, err), err);
    if (summary != NULL) {
        char n[3][48];
        const bm_counts *counts = bm_summary_counts(summary);
        cli_report_note(&context->console, "%s kept, %s removed, %s skipped%s",
                        cli_format_count(counts->kept, n[0], sizeof n[0]),
                        cli_format_count(counts->removed, n[1], sizeof n[1]),
                        cli_format_of(counts->skipped, "record", n[2], sizeof n[2]),
                        options.annotate ? "; each document is written with its group" : "");
        cli_report_end(context, options.annotate ? "annotated" : "filtered", summary);
    }
    bm_summary_free(summary);
    return status;
}
