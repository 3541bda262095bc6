/* SPDX-License-Identifier: Apache-2.0 */
/* temp_file.h -- makes temporary files, and the message if making or writing one fails. */
#pragma once

#include <bandmill/status.h>

/* Like bm_fail_errno (base/error.h), for a temporary file in `dir`. The message names the option
 * that sets another directory. */
bm_status bm_fail_temp_file(bm_error *err, int errnum, const char *dir, const char *what);

/* Open a new file for reading and writing in the directory `dir`. The file has no name, or its name
 * is removed at once. Returns its descriptor; -1: see errno. */
int bm_open_nameless(const char *dir);
