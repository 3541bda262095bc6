/* opencl_backend.h -- OpenCL devices as a backend: what a job sees of this room.
 *
 * A backend that is opened through the table may stop answering and is watched (cl_watchdog.c). The
 * search for kernel parameters opens a device without that (cl_backend.h). */
#ifndef BM_BACKEND_OPENCL_OPENCL_BACKEND_H
#define BM_BACKEND_OPENCL_OPENCL_BACKEND_H

#include "model/backend.h"

extern const bm_backend_ops bm_backend_opencl;

/* In a process of its own (cl_child.h): open the device without a trial and close it again; or list
 * the devices on stdout. `device` is the text that the process was given. The error's message is the line that the process must
 * print; it holds all that the error says. */
bm_status bm_backend_opencl_try(const char *device, const char *cache_dir, bm_error *err);

#endif
