/* SPDX-License-Identifier: Apache-2.0 */
/* program.h -- the interface between the library and its own program: not installed, not exported.
 *
 * A driver's compiler may abort, hang or call exit. So the library tries it in a separate process:
 * this program with the command __probe-opencl. The list of devices is made the same way. */
#pragma once

#include <bandmill/status.h>

#define BM_PROBE_LIST "list" /* value of `device` that lists the devices on stdout */
#define BM_PROBE_DRIVER_MARK                                                                       \
    "bandmill-driver: " /* begins the line that names the driver running when the process ended;
                         * optional */

/* Build the kernels of one OpenCL device and compare a known answer, or list the devices: the work
 * of `bandmill __probe-opencl DEVICE CACHE_DIR`. `device` has that command's own syntax
 * (cl_probe.c). The library reads the error's message from the process's stderr. */
bm_status bm_device_probe(const char *device, const char *cache_dir, bm_error *err);
