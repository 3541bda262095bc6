/* SPDX-License-Identifier: Apache-2.0 */
/* cl_device.h -- OpenCL devices: the list, and one chosen by "opencl:P.D". */
#pragma once

#include <bandmill/device.h>

#include "opencl/cl_load.h"

typedef struct bm_cl_device {
    cl_platform_id platform;
    cl_device_id id;
    cl_device_type type;
    bm_device_info info;
    char vendor[128], platform_version[128];
    char version[32]; /* of OpenCL, as the device reports it: "OpenCL 1.2 ..." */
    uint32_t lanes;   /* native vector of 32-bit integers, in lanes */
    size_t max_group; /* work-items of a group */
    bool unified;     /* shares the host's memory: buffers are mapped, not copied */
} bm_cl_device;

/* The device that `spec` names. BM_ERR_DEVICE: no such device, or one that cannot be used. */
bm_status bm_cl_device_find(const bm_cl_api *api, const char *spec, bm_cl_device *out,
                            bm_error *err);
