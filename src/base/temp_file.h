/* SPDX-License-Identifier: Apache-2.0 */
/* temp_file.h -- temporary files: making one, and the message when that or writing to it fails. */
#pragma once

#include <bandmill/status.h>

/* As bm_fail_errno (base/error.h), of a temporary file in `dir`; names the way out. */
bm_status bm_fail_temp_file(bm_error *err, int errnum, const char *dir, const char *what);

/* A new file in the directory `dir`, to be read and written, that has no name, or none any more.
 * -1: errno tells why. */
int bm_open_nameless(const char *dir);
