/* SPDX-License-Identifier: Apache-2.0 */
/* temp_file.c -- messages of temporary files, which name the option that puts them elsewhere.
 *
 * Tests: tests/unit/spill/test_spill_file.c */
#include "base/temp_file.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

bm_status bm_fail_temp_file(bm_error *err, int errnum, const char *dir, const char *what)
{
    const bm_status status = bm_fail_errno(err, errnum, dir, what);
    if (err != NULL) {
        const size_t len = strlen(err->message);
        snprintf(err->message + len, sizeof err->message - len,
                 " (`temp_dir` names another place)");
    }
    return status;
}
