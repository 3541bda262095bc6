/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h -- signals: requests to end the program, and SIGBUS from files mapped into memory (an
 * index), when their disk fails or somebody truncates them while they are open. */
#pragma once

#include <stdbool.h>

/* Install the handlers. Call once, before anything that may take long. */
void cli_catch_signals(void);
/* Has SIGINT or SIGTERM been received? */
bool cli_interrupted(void);
/* The first SIGINT or SIGTERM that was received, as its number; 0: none was. */
int cli_stop_signal(void);
/* From now on, a failed read of mapped memory ends the process with exit code 4 and one line on
 * stderr, which is JSON if `json`. */
void cli_catch_bus_error(bool json);
