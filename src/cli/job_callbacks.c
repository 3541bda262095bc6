/* SPDX-License-Identifier: Apache-2.0 */
/* job_callbacks.c -- the callbacks of a running job: log, meter, interruption.
 *
 * Tests: tests/cli/cases/interrupt.sh, tests/cli/cases/dedup.sh */
#include "cli/job_callbacks.h"

#include "cli/interrupt.h"

static bool callback_cancelled(void *ctx)
{
    (void)ctx;
    return cli_interrupted();
}

static void callback_log(void *ctx, bm_log_level level, const char *message)
{
    cli_context *context = ctx;
    cli_report_log(&context->console, level, message);
}

static void callback_progress(void *ctx, const bm_progress *progress)
{
    cli_context *context = ctx;
    cli_meter_update(&context->meter, progress, cli_now());
}

bm_callbacks cli_callbacks(cli_context *context)
{
    return (bm_callbacks){.ctx = context,
                          .progress = callback_progress,
                          .log = callback_log,
                          .cancelled = callback_cancelled};
}
