/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_export.c -- bandmill export: writes signatures in the form of another tool.
 *
 * Tests: tests/cli/cases/export.sh */
#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"

bm_status cli_run_export(cli_context *context, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    bm_summary *summary = NULL;
    bm_export_options options;
    bm_export_options_init(&options);
    options.path = settings->operands.items[0];
    options.to = settings->results.exchange.tool;
    options.what = settings->results.exchange.what;
    options.bands = settings->bands;
    options.resources = settings->resources;
    options.output = cli_job_output(context);
    options.callbacks = cli_callbacks(context);
    const bm_status status = cli_end_job(context, bm_job_export(&options, &summary, err), err);
    if (summary != NULL) {
        cli_report_details(context, summary);
        cli_report_read(context, bm_summary_counts(summary));
        cli_report_end(context, "exported", summary);
    }
    bm_summary_free(summary);
    return status;
}
