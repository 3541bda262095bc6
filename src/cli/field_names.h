/* SPDX-License-Identifier: Apache-2.0 */
/* field_names.h -- messages of the library name fields of its options in backquotes ("`bands`
 * without `rows`"); the program shows its own options instead. */
#pragma once

#include <stddef.h>

/* Write `message` to `out` (cut at cap), replacing each field by its command-line option or
 * environment variable: `text_bytes` by --text-bytes, an option with a letter by its letter, such
 * as -0 or -o DIR. If options of several commands match, the option of `command` (a cli_command_id)
 * is used. Other words in backquotes are unchanged. */
void cli_show_fields(const char *message, unsigned command, char *out, size_t cap);
