/* cl_coef.h -- what a scheme drew, as the kernels read it: their buffer `coef`. */
#ifndef BM_BACKEND_OPENCL_CL_COEF_H
#define BM_BACKEND_OPENCL_CL_COEF_H

#include "backend/opencl/cl_kernel_tune.h"
#include "sketch/oph_plan.h"

/* *out is *n words (bm_free). affine32: a, then b, each shape->coef_words, padded with zeros. oph:
 * a, b, the rest of 16 words, and both tables of `plan` (kernels/oph_donors.cl); `plan` is not read
 * for other schemes. */
bm_status bm_cl_coef_make(const bm_cl_shape *shape, const bm_scheme_params *params,
                          const bm_oph_plan *plan, uint32_t **out, size_t *n, bm_error *err);

#endif
