/* cl_open_options.h -- how an OpenCL device is opened, with more say than bm_backend_cfg gives. */
#ifndef BM_BACKEND_OPENCL_CL_OPEN_OPTIONS_H
#define BM_BACKEND_OPENCL_CL_OPEN_OPTIONS_H

#include <stdbool.h>

/* {0}: all as usual. */
typedef struct bm_cl_open_options {
    bool no_probe;                  /* this is the trial run */
    bool profile;                   /* measure the time in kernels */
    bool no_zero_copy;              /* stage everything, also where memory is shared */
    void (*after_probe)(void *ctx); /* told once the trial run is over; NULL: nobody */
    void *after_probe_ctx;
} bm_cl_open_options;

#endif
