/* SPDX-License-Identifier: Apache-2.0 */
/* address.h -- distinguishes addresses ("scheme://…") from paths, and hides their secrets.
 *
 * An address can hold secrets: a user and a password before its host, and a signature after "?".
 * Results show addresses without these secrets, and bm_text_hide (bandmill/status.h) removes them
 * from every message. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <bandmill/status.h>

/* Does `path` begin with "scheme://"? Everything else is a path. */
bool bm_is_address(const char *path);
/* Write a path or an address to `out` (`cap` bytes) as messages show it, cut short if necessary. An
 * address is written without user, password and query. NULL is written as "". */
void bm_path_show(const char *path, char *out, size_t cap);
