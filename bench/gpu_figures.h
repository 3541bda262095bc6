/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_figures.h -- the two parts of gpu_figures.c: facts of devices, and rates of one device. */
#pragma once

#include <bandmill/status.h>

#include "json/json_write.h"
#include "opencl/cl_load.h"

/* Functions that Bandmill itself does not call; NULL where the loader lacks one. */
#define GPU_FUNCTIONS(X) X(clGetKernelWorkGroupInfo)

typedef struct gpu_api {
    bm_cl_api cl;
    struct {
        GPU_FUNCTIONS(BM_LIBRARY_MEMBER)
    } more;
} gpu_api;

/* Writes the members "rates" of one device: arithmetic, launches, copies, waiting. A rate that the
 * device cannot run is a row with a reason. `quick`: each rate is measured once and briefly. */
bm_status gpu_rates_write(const gpu_api *api, cl_device_id device, bool quick, bm_json *json,
                          bm_error *err);
