/* SPDX-License-Identifier: Apache-2.0 */
/* field_names.h -- replaces field names in messages. The library's messages name fields in
 * backquotes ("`bands` without `rows`"); the program shows its own options instead. */
#pragma once

#include <stddef.h>

/* Write `message` to `out`, cut at `cap`. Each field is replaced by the environment variable or the
 * option that sets it: `text_bytes` becomes --text-bytes. An option that has a letter is shown by
 * its letter, such as -0 or -o DIR. If options of several commands match, the option of `command`
 * (a cli_command_id) is used. Other words in backquotes are unchanged. */
void cli_show_fields(const char *message, unsigned command, char *out, size_t cap);
