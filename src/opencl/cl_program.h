/* cl_program.h -- a program for one shape: its sources, its options, its kernels. */
#ifndef BM_BACKEND_OPENCL_CL_PROGRAM_H
#define BM_BACKEND_OPENCL_CL_PROGRAM_H

#include "opencl/cl_cache.h"
#include "opencl/cl_device.h"
#include "opencl/cl_kernel_tune.h"

/* The kernels of every program; the table in cl_program.c has a row for each. */
typedef enum bm_cl_kernel_id {
    BM_CL_SIGN,
    BM_CL_SPLIT_BEGIN,
    BM_CL_SPLIT_FILL, /* only where the scheme's row says that it fills */
    BM_CL_SPLIT_KEYS, /* only where there are bands */
    BM_CL_TEXT_HASH,  /* only where the shape has text */
    BM_CL_TEXT_COUNT, /* likewise */
    BM_CL_TEXT_CONTENT,
    BM_CL_N_KERNELS
} bm_cl_kernel_id;

typedef struct bm_cl_program {
    cl_program program;
    cl_kernel kernels[BM_CL_N_KERNELS];
} bm_cl_program;

/* What a program is made for; all borrowed. */
typedef struct bm_cl_target {
    const bm_cl_api *api;
    cl_context context;
    const bm_cl_device *device;
    const bm_cl_shape *shape;
} bm_cl_target;

/* Hash of all that decides the binary: sources, options, device, driver, platform's version. */
bm_cl_key bm_cl_program_key(const bm_cl_device *device, const bm_cl_shape *shape);

/* From the embedded sources; tried three times, since drivers fail when several processes build at
 * once. The build log is in the error. */
bm_status bm_cl_program_build(const bm_cl_target *target, bm_cl_program *out, bm_error *err);
/* From a binary that bm_cl_program_binary gave. */
bm_status bm_cl_program_load(const bm_cl_target *target, const void *binary, size_t len,
                             bm_cl_program *out, bm_error *err);
/* The device's binary: *out (bm_free) of *len bytes. */
bm_status bm_cl_program_binary(const bm_cl_api *api, const bm_cl_program *program, void **out,
                               size_t *len, bm_error *err);
void bm_cl_program_reset(const bm_cl_api *api, bm_cl_program *program);

#endif
