/* cmd_dedup.c -- bandmill dedup: find near-duplicates, group them, keep one of each group. */
#include "cli/command.h"

bm_status cli_run_dedup(cli_context *context, bm_error *err)
{
    return cli_run_job(context, bm_job_dedup, "done", err);
}
