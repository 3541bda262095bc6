/* SPDX-License-Identifier: Apache-2.0 */
/* program.h -- between the library and its own program, and nobody else: not installed, not
 * exported.
 *
 * A driver's compiler may abort, hang or call exit; so the library has it tried in a process of its
 * own, which is this program with the command __probe-opencl. So is the list of devices made. */
#pragma once

#include <bandmill/status.h>

#define BM_PROBE_LIST "list" /* for `device`: list what there is, on stdout */
#define BM_PROBE_DRIVER_MARK                                                                       \
    "bandmill-driver: " /* begins the line that names the driver at work
                                                    when the process ended; may be missing */

/* Build the kernels of one OpenCL device and compare one known answer, or list the devices: what
 * `bandmill __probe-opencl DEVICE CACHE_DIR` runs. `device` is that command's own language
 * (cl_probe.c). The error's message is the line that the library reads from that process's stderr.
 */
bm_status bm_device_probe(const char *device, const char *cache_dir, bm_error *err);
