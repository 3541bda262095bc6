/* opencl_backend.h -- OpenCL devices as a backend: what a job sees of this room.
 *
 * A backend that is opened through the table may stop answering and is watched (cl_watchdog.c). A
 * benchmark opens a device without that (cl_backend.h). */
#ifndef BM_BACKEND_OPENCL_OPENCL_BACKEND_H
#define BM_BACKEND_OPENCL_OPENCL_BACKEND_H

#include "backend/backend.h"

extern const bm_backend_ops bm_backend_opencl;

/* Every OpenCL device, in the order of platforms: *out is an array of *n (bm_free). No loader, no
 * platform: zero devices, BM_OK and a line in `note` (cap bytes, may be NULL). */
bm_status bm_backend_opencl_list(bm_device_info **out, size_t *n, char *note, size_t cap,
                                 bm_error *err);

/* In the process of a trial run (cl_probe.h): open the device without a trial and close it again.
 * `device` is the text that the run was given. The error's message is the line that the process must
 * print; it holds all that the error says. */
bm_status bm_backend_opencl_try(const char *device, const char *cache_dir, bm_error *err);

#endif
