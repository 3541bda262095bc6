/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_import.c -- bandmill import: reads signatures of other tools.
 *
 * Tests: tests/cli/cases/import.sh */
#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"
#include "cli/options.h"

bm_status cli_run_import(cli_context *context, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    bm_summary *summary = NULL;
    bm_import_options options;
    bm_import_options_init(&options);
    options.paths = settings->operands.items;
    options.n_paths = settings->operands.n;
#define OF_IMPORT(member, given) options.member = settings->given;
#include "options/rows.def"
    options.text = settings->text;
    options.sketch = settings->sketch;
    options.resources = settings->resources;
    options.output = cli_job_output(context);
    options.callbacks = cli_callbacks(context);
    options.set_fields = cli_set_fields(settings);
    const bm_status status = cli_end_job(context, bm_job_import(&options, &summary, err), err);
    if (summary != NULL) {
        cli_report_details(context, summary);
        cli_report_read(context, bm_summary_counts(summary));
        cli_report_end(context, "imported", summary);
    }
    bm_summary_free(summary);
    return status;
}
