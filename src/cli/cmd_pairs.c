/* cmd_pairs.c -- bandmill pairs: list the pairs at or above a threshold. */
#include "cli/command.h"

bm_status cli_run_pairs(cli_context *context, bm_error *err)
{
    return cli_run_job(context, bm_job_pairs, "done", err);
}
