/* SPDX-License-Identifier: Apache-2.0 */
/* cl_link_rate.h -- the speed of copies to a device and back, for benchmarks. */
#pragma once

#include <stddef.h>

#include <bandmill/status.h>

/* Copy `bytes` between pinned host memory and a buffer of `device` ("opencl:P.D"), in each
 * direction once to warm up and seven times measured. The results are medians, in bytes per second.
 * It makes the same calls as the backend does for a device with its own memory; for one that shares
 * the host's memory it measures a plain copy. No program is built. */
bm_status bm_opencl_link_rate(const char *device, size_t bytes, double *up_bytes_s,
                              double *down_bytes_s, bm_error *err);
