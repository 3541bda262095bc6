/* SPDX-License-Identifier: Apache-2.0 */
/* cl_link_rate.h -- the speed of copies to a device and back, for benchmarks. */
#pragma once

#include <stddef.h>

#include <bandmill/status.h>

/* Copy `bytes` between pinned host memory and a buffer of `device` ("opencl:P.D"). Each direction
 * is copied once to warm up, and then measured seven times. The results are medians, in bytes per
 * second. If the device has its own memory, the calls are the same as the backend's. If it shares
 * the host's memory, a plain copy is measured. No program is built. */
bm_status bm_opencl_link_rate(const char *device, size_t bytes, double *up_bytes_s,
                              double *down_bytes_s, bm_error *err);
