/* job_callbacks.h -- the callbacks of a job: log, meter, interruption. */
#ifndef BM_CLI_JOB_CALLBACKS_H
#define BM_CLI_JOB_CALLBACKS_H

#include "cli/command.h"

/* They use the context's console and meter, which are borrowed. */
bm_callbacks cli_callbacks(cli_context *context);

#endif
