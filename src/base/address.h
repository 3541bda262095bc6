/* SPDX-License-Identifier: Apache-2.0 */
/* address.h -- distinguishes addresses ("scheme://…") from paths, and hides their secrets.
 *
 * An address can hold secrets: a user and a password before its host, and a signature after "?".
 * Results name the file without them, and every message passes through bm_text_hide
 * (bandmill/status.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <bandmill/status.h>

/* Does `path` begin with "scheme://"? Everything else is a path. */
bool bm_is_address(const char *path);
/* Write to `out` (`cap` bytes) the form in which messages show a path or address, cut short if it
 * is longer: an address appears without user, password and query. NULL is shown as "". */
void bm_path_show(const char *path, char *out, size_t cap);
