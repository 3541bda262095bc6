/* SPDX-License-Identifier: Apache-2.0 */
/* cl_selftest.h -- known answers of a freshly made program. */
#pragma once

#include "opencl/cl_stream.h"

/* Sign a fixed batch of documents of 0, 1, 2, 17, 118, 1000, 3001 … shingles on the stream and
 * compare every word and key with the scalar reference. BM_ERR_SELFTEST names the first that
 * differs. *n_checks (may be NULL): words and keys compared. Where the program is given texts, the
 * same of a few texts, with their counts and content hashes. */
bm_status bm_cl_selftest(bm_cl_stream *stream, uint32_t *n_checks, bm_error *err);
