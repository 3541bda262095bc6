/* cmd_filter.c -- bandmill filter: write the documents that an earlier dedup keeps. */
#include "cli/command.h"

bm_status cli_run_filter(cli_context *context, bm_error *err)
{
    return cli_run_job(context, bm_job_filter, "filtered", err);
}
