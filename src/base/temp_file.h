/* SPDX-License-Identifier: Apache-2.0 */
/* temp_file.h -- temporary files: making one, and the message if making or writing it fails. */
#pragma once

#include <bandmill/status.h>

/* As bm_fail_errno (base/error.h), for a temporary file in `dir`. The message names the option that
 * puts it elsewhere. */
bm_status bm_fail_temp_file(bm_error *err, int errnum, const char *dir, const char *what);

/* Open a new file without a name (or with its name removed) in the directory `dir`, for reading and
 * writing. Returns its descriptor; -1: see errno. */
int bm_open_nameless(const char *dir);
