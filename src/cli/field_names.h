/* SPDX-License-Identifier: Apache-2.0 */
/* field_names.h -- messages of the library name fields of its options, in backquotes
 * ("`bands` without `rows`"); the program shows its own options in their place. */
#pragma once

#include <stddef.h>

/* Write `message` to `out` (cut at cap) with the option of the command line, or the variable of the
 * environment, in place of each field: `max_errors` as --max-errors, one with a letter as -0 or
 * -o DIR. If options of several commands have the name, the option of `command` (a cli_command_id)
 * counts. Other words in backquotes stay as they are. */
void cli_show_fields(const char *message, unsigned command, char *out, size_t cap);
