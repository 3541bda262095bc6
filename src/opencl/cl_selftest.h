/* SPDX-License-Identifier: Apache-2.0 */
/* cl_selftest.h -- checks a new program with known answers. */
#pragma once

#include "opencl/cl_stream.h"

/* Sign a fixed batch of documents of 0, 1, 2, 17, 118, 1000, 3001 … shingles on the stream, and
 * compare every word and key with the scalar reference. If the program takes texts, do the same
 * with a few texts, and also compare their counts and content hashes. BM_ERR_SELFTEST: the error
 * names the first difference. *n_checks becomes the number of compared words and keys; `n_checks`
 * may be NULL. If bm_device_answers is not BM_ANSWERS_CHECKED, this does nothing. */
bm_status bm_cl_selftest(bm_cl_stream *stream, uint32_t *n_checks, bm_error *err);
