/* cl_backend.h -- the OpenCL backend, opened with more say than bm_backend_cfg gives. */
#ifndef BM_BACKEND_OPENCL_CL_BACKEND_H
#define BM_BACKEND_OPENCL_CL_BACKEND_H

#include "backend/backend.h"
#include "backend/opencl/cl_kernel_params.h"

typedef struct bm_cl_open_options {
    bool no_probe;     /* this is the probe */
    bool profile;      /* keep kernel times */
    bool no_zero_copy; /* stage everything, also where memory is shared */
    const char *shape; /* "cpu", "gpu"; NULL: $BANDMILL_CL_SHAPE (for tests), else by the table */
    const char *row;   /* a line as in kernels/tuning/opencl.csv instead of the table; NULL:
                          $BANDMILL_CL_ROW (for tests), else by the table */
    double probe_seconds;           /* limit of the probe; 0: $BANDMILL_PROBE_SECONDS, else 120 */
    void (*after_probe)(void *ctx); /* told once the probe is over; NULL: nobody */
    void *after_probe_ctx;
    size_t limit_bytes; /* of a buffer; 0: $BANDMILL_CL_LIMIT (for tests), else by the device */
} bm_cl_open_options;

/* bm_backend_opencl.open is this with all options at 0, on a thread of its own (cl_watchdog.c); here
 * every call is made by the caller's, and a driver that hangs hangs it too. */
bm_status bm_cl_backend_open(const bm_backend_cfg *cfg, const bm_cl_open_options *options,
                             bm_backend **out, bm_error *err);
/* Seconds of bm_sign on the device since it was opened, if `profile`. */
double bm_cl_backend_kernel_seconds(const bm_backend *backend);
/* Was the program taken from the cache? */
bool bm_cl_backend_was_cached(const bm_backend *backend);
/* The row of parameters that it was opened with. */
const bm_kernel_params *bm_cl_backend_row(const bm_backend *backend);
/* What a row comes to on this backend's device: two rows of which this is the same text are built,
 * cut and fed alike. Errors as when a device is opened with it. */
bm_status bm_cl_backend_effect(const bm_backend *backend, const bm_kernel_params *row, char *out,
                               size_t cap, bm_error *err);
/* Words and keys that the self-test compared at open. */
uint32_t bm_cl_backend_checks(const bm_backend *backend);

#endif
