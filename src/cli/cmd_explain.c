/* cmd_explain.c -- bandmill explain: why documents are in one group. */
#include "cli/command.h"

/* What was found goes to stdout; the form of it is all that the options decide. */
bm_status cli_run_explain(cli_context *context, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    const arg_list *operands = &settings->operands;
    bm_explain_summary summary;
    bm_explain_options options = {.path = operands->items[0],
                                  .group = settings->group,
                                  .form = settings->dot    ? BM_EXPLAIN_DOT
                                          : settings->json ? BM_EXPLAIN_JSON
                                                           : BM_EXPLAIN_TEXT,
                                  .output = settings->job.output,
                                  .force = settings->job.force,
                                  .write = cli_write,
                                  .write_ctx = &context->console,
                                  .cpu = settings->job.cpu,
                                  .threads = settings->job.threads,
                                  .memory = settings->job.memory,
                                  .callbacks = cli_callbacks(context)};
    if (operands->n == 3) {
        options.id_a = operands->items[1];
        options.id_b = operands->items[2];
    }
    bm_status status = bm_explain(&options, &summary, err);
    cli_meter_end(&context->meter);
    if (status == BM_OK || (status == BM_ERR_PIPE && context->console.out_errno != 0))
        status = cli_finish(&context->console, err);
    return status;
}
