/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_sign.c -- bandmill sign: writes signatures (and band keys) of documents.
 *
 * Tests: tests/cli/cases/oph.sh, tests/cli/cases/resume.sh */
#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"
#include "cli/options.h"

bm_status cli_run_sign(cli_context *context, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    bm_summary *summary = NULL;
    bm_sign_options options;
    bm_sign_options_init(&options);
    options.input = settings->input;
    options.text = settings->text;
    options.sketch = settings->sketch;
    options.bands = settings->bands;
    options.device = settings->device;
    options.resources = settings->resources;
    options.output = cli_job_output(context);
    options.resume = settings->results.resume;
    options.set_fields = cli_set_fields(settings);
    options.band_keys = settings->results.band_keys;
    options.shard = settings->results.shard.index;
    options.n_shards = settings->results.shard.of;
    options.callbacks = cli_callbacks(context);
    const bm_status status = cli_end_job(context, bm_job_sign(&options, &summary, err), err);
    if (summary != NULL) {
        const bm_counts *counts = bm_summary_counts(summary);
        cli_report_details(context, summary);
        cli_report_read(context, counts);
        cli_report_not(context, "signed", counts);
        cli_report_end(context, "signed", summary);
    }
    bm_summary_free(summary);
    return status;
}
