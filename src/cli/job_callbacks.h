/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/command.h"

/* The callbacks borrow the context's console and meter. */
bm_callbacks cli_callbacks(cli_context *context);
