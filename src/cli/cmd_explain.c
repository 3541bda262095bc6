/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_explain.c -- bandmill explain: explains why documents are in one group.
 *
 * Tests: tests/cli/cases/explain.sh */
#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"

/* The answer goes to stdout or, if an output was given, to a file. The options choose its form.
 * There is no summary. */
bm_status cli_run_explain(cli_context *context, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    const arg_list *operands = &settings->operands;
    bm_explain_options options;
    bm_explain_options_init(&options);
    options.path = operands->items[0];
    options.group = settings->explain.group;
    if (settings->explain.dot)
        options.form = BM_EXPLAIN_DOT;
    else
        options.form = settings->messages.json ? BM_EXPLAIN_JSON : BM_EXPLAIN_TEXT;
    options.output = settings->output;
    options.write = cli_write;
    options.write_ctx = &context->console;
    options.device.cpu = settings->device.cpu;
    options.resources = settings->resources;
    options.callbacks = cli_callbacks(context);
    options.sources = settings->files.sources;
    if (operands->n > 1)
        options.id_a = operands->items[1];
    if (operands->n > 2)
        options.id_b = operands->items[2];
    return cli_end_rows(context, bm_explain(&options, NULL, err), err);
}
