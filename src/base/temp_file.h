/* SPDX-License-Identifier: Apache-2.0 */
/* temp_file.h -- what is said of temporary files that cannot be made or written. */
#pragma once

#include <bandmill/status.h>

/* As bm_fail_errno (base/error.h), of a temporary file in `dir`; names the way out. */
bm_status bm_fail_temp_file(bm_error *err, int errnum, const char *dir, const char *what);
