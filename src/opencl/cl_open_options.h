/* cl_open_options.h -- how an OpenCL device is opened, with more say than bm_backend_cfg gives. */
#ifndef BM_BACKEND_OPENCL_CL_OPEN_OPTIONS_H
#define BM_BACKEND_OPENCL_CL_OPEN_OPTIONS_H

#include <stdbool.h>

/* {0}: all as usual. */
typedef struct bm_cl_open_options {
    bool no_probe;     /* this is the trial run */
    bool no_zero_copy; /* stage everything, also where memory is shared */
    bool brief;        /* no long document among the known answers: the device is an interpreter */
    /* Told when a trial run begins and when it is over; there may be two. NULL: nobody. */
    void (*probing)(void *ctx, bool begins);
    void *probing_ctx;
} bm_cl_open_options;

#endif
