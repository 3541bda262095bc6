/* SPDX-License-Identifier: Apache-2.0 */
/* cl_device.h -- an OpenCL device, chosen by "opencl:P.D". */
#pragma once

#include <bandmill/device.h>

#include "opencl/cl_load.h"

typedef struct bm_cl_device {
    cl_platform_id platform;
    cl_device_id id;
    cl_device_type type;
    bm_device_info info;
    char vendor[128], platform_version[128];
    char version[32]; /* CL_DEVICE_VERSION: "OpenCL 1.2 ..." */
    uint32_t lanes;   /* native width of vectors of 32-bit integers */
    size_t max_group; /* the most work-items in a group */
    bool unified;     /* the device shares the host's memory, so buffers are mapped, not copied */
} bm_cl_device;

/* Find the device that `spec` names. BM_ERR_DEVICE: there is no such device, or it is unusable. */
bm_status bm_cl_device_find(const bm_cl_api *api, const char *spec, bm_cl_device *out,
                            bm_error *err);
