/* SPDX-License-Identifier: Apache-2.0 */
/* cl_link_rate.h -- how fast bytes get to a device and back, for the benchmark. */
#pragma once

#include <stddef.h>

#include <bandmill/status.h>

/* Copies `bytes` between pinned host memory and a buffer of `device` ("opencl:P.D"), once to warm
 * up and then seven times each way: medians, in bytes a second. The same calls as the backend's on
 * a device with its own memory; on one that shares the host's this is a plain copy. No program is
 * built. */
bm_status bm_opencl_link_rate(const char *device, size_t bytes, double *up_bytes_s,
                              double *down_bytes_s, bm_error *err);
