/* cl_backend.h -- an OpenCL device as a backend, whose calls are made by the caller's own thread: a
 * driver that hangs hangs it too. */
#ifndef BM_BACKEND_OPENCL_CL_BACKEND_H
#define BM_BACKEND_OPENCL_CL_BACKEND_H

#include "model/backend.h"
#include "opencl/cl_kernel_params.h"
#include "opencl/cl_open_options.h"

/* bm_backend_opencl.open is this with all options at 0, on a thread of its own (cl_watchdog.c). */
bm_status bm_cl_backend_open(const bm_backend_cfg *cfg, const bm_cl_open_options *options,
                             bm_backend **out, bm_error *err);
/* Was the program taken from the cache? */
bool bm_cl_backend_was_cached(const bm_backend *backend);
/* The row of kernel parameters that it was opened with. */
const bm_kernel_params *bm_cl_backend_kernel_params(const bm_backend *backend);
/* What a row comes to on this backend's device: two rows of which this is the same text are built,
 * cut and fed alike. Errors as when a device is opened with it. */
bm_status bm_cl_backend_effect(const bm_backend *backend, const bm_kernel_params *row, char *out,
                               size_t cap, bm_error *err);
/* Words and keys that the self-test compared at open. */
uint32_t bm_cl_backend_checks(const bm_backend *backend);

#endif
