/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h -- signals: requests to end the program, and SIGBUS. Reading a mapped file (an index)
 * raises SIGBUS if its disk fails, or if another process truncates the file. */
#pragma once

#include <stdbool.h>

/* Install the handlers. Call once, before anything that may take long. */
void cli_catch_signals(void);
/* Has SIGINT or SIGTERM been received? */
bool cli_interrupted(void);
/* The number of the first SIGINT or SIGTERM; 0: none was received. */
int cli_stop_signal(void);
/* From now on, a failed read of mapped memory prints one line on stderr, which is JSON if `json`,
 * and ends the process with exit code 4. */
void cli_catch_bus_error(bool json);
