/* cmd_sign.c -- bandmill sign: write signatures (and band keys) of documents. */
#include "cli/command.h"

bm_status cli_run_sign(cli_context *context, bm_error *err)
{
    return cli_run_job(context, bm_job_sign, "signed", err);
}
