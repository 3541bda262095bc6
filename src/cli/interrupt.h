/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h -- signals: whether somebody asked the program to end, and files that are read as
 * memory (an index) and cannot be read, for their disk fails, or somebody cuts them short while
 * they are open. */
#pragma once

#include <stdbool.h>

/* Once, before anything that may take long. */
void cli_catch_signals(void);
/* True once SIGINT or SIGTERM came. */
bool cli_interrupted(void);
/* The first of them that came; 0: none. */
int cli_stop_signal(void);
/* From now on a read that fails so ends the process with one line on stderr, as JSON or not, and
 * exit code 4. */
void cli_catch_bus_error(bool json);
