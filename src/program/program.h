/* SPDX-License-Identifier: Apache-2.0 */
/* program.h -- the interface between the library and its own program: not installed, not exported.
 *
 * A driver's compiler may abort, hang or call exit. So the library tests it in a separate process,
 * which runs this program with the command __probe-opencl. The library also lists the devices by
 * such a process. */
#pragma once

#include <bandmill/status.h>

#define BM_PROBE_LIST "list" /* value of `device` that lists the devices on stdout */
#define BM_PROBE_DRIVER_MARK                                                                       \
    "bandmill-driver: " /* prefix of an output line that names the driver that was running when the
                         * process ended; the line is optional */

/* Do the work of `bandmill __probe-opencl DEVICE CACHE_DIR`: build the kernels for one OpenCL
 * device and compare a known answer, or list the devices. `device` has the syntax of this command
 * (cl_probe.c). The process prints the error message to stderr, and the library reads it there. */
bm_status bm_device_probe(const char *device, const char *cache_dir, bm_error *err);
