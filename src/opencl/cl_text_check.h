/* cl_text_check.h -- known answers of the kernels that cut and hash texts. */
#pragma once

#include "opencl/cl_stream.h"

/* Sign a few texts of the shape's shingles on the stream and compare every word, key and count with
 * the xxHash library and the scalar reference. BM_ERR_SELFTEST names the first that differs.
 * *n_checks (may be NULL) grows by what was compared. */
bm_status bm_cl_text_check(bm_cl_stream *stream, uint32_t *n_checks, bm_error *err);
