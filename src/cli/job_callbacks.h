/* SPDX-License-Identifier: Apache-2.0 */
/* job_callbacks.h -- the callbacks of a job: log, meter, interruption. */
#pragma once

#include "cli/command.h"

/* The callbacks borrow the context's console and meter. */
bm_callbacks cli_callbacks(cli_context *context);
