/* SPDX-License-Identifier: Apache-2.0 */
/* failed_run.h -- what must hold after each run of a job in which one call failed. Header only,
 * used with held_blocks.h. */
#pragma once

#include <bandmill/status.h>

#include "held_blocks.h"

/* Is this an allowed status for a job that also reads files of an earlier job? A file that could
 * not be read may look like a file of a wrong kind. */
static inline bool fits_reader(bool memory, bm_status status)
{
    if (memory)
        return status == BM_ERR_NOMEM;
    return status == BM_ERR_IO || status == BM_ERR_NOMEM || status == BM_ERR_FORMAT ||
           status == BM_ERR_USAGE || status == BM_ERR_INPUT;
}

/* After call `n` failed: no memory is leaked, no more files are open than before, and a job that
 * failed has given a reason. */
static inline void expect_nothing_left(long n, size_t n_files, bm_status status, const char *why)
{
    cr_assert_eq(known.n, 0, "%s, call %ld: %zu blocks are kept (%s)", plan.which, n, known.n, why);
    cr_assert_eq(open_files(), n_files, "%s, call %ld: a file stays open (%s)", plan.which, n, why);
    cr_assert(status == BM_OK || why[0] != '\0', "%s, call %ld: no word of it", plan.which, n);
}

/* The same, and the status is the right one, or one that fits the failure. */
static inline void expect_failed_run(long n, size_t n_files, bm_status status, bm_status right,
                                     const char *why)
{
    expect_nothing_left(n, n_files, status, why);
    cr_assert(status == right || (plan.failed && fits_reader(plan.with_memory, status)),
              "%s, call %ld: %d, %s", plan.which, n, (int)status, why);
}
