/* SPDX-License-Identifier: Apache-2.0 */
/* match_calls.h -- the calls of matching with sets in a file, one of which fails in each run: the
 * job must report why and give no result. First each call fails in turn; later, of many similar
 * calls, fewer and fewer. For one source file of a program. */
#pragma once

#include <unistd.h>

#include "tests/unit/match/all_pairs_world.h"
#include "wrap_calls.h"

WRAP(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at), -1, false)
WRAP(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, n, at), -1, false)
WRAP_OPEN
WRAP_MEMORY

typedef struct job job;

static uint64_t result; /* of the last run */

/* Returns the number of runs that had a failure. */
static int fail_some(job *j, bm_status (*run)(job *, bm_error *), bool memory)
{
    int n_failed = 0;
    plan.armed = false;
    cr_assert_eq(run(j, NULL), BM_OK);
    const uint64_t wanted = result;
    cr_assert_gt(wanted, 50);
    plan.failed = true;
    for (long n = 0; plan.failed; n += 1 + n / 8) {
        bm_error err = {0};
        plan_call(n, EIO, memory);
        const bm_status status = run(j, &err), failure = memory ? BM_ERR_NOMEM : BM_ERR_IO;
        plan.armed = false;
        n_failed += plan.failed;
        cr_assert_eq(status, plan.failed ? failure : BM_OK, "call %ld: %s", n, err.message);
        cr_assert(status == BM_OK ? result == wanted : err.message[0] != '\0');
    }
    return n_failed;
}
