/* SPDX-License-Identifier: Apache-2.0 */
/* cl_backend.h -- an OpenCL device as a backend. Calls run on the caller's own thread, so a driver
 * that hangs also hangs the caller. */
#pragma once

#include <stdbool.h>

#include "model/backend.h"
#include "opencl/cl_program.h"

/* Options for opening a device that bm_backend_cfg does not have. {0}: the defaults. */
typedef struct bm_cl_open_options {
    bool no_probe;     /* this is the trial run */
    bool no_zero_copy; /* copy all data, even if host and device share memory */
    bool brief;        /* leave the long document out of the known answers, because the device is an
                          interpreter and therefore slow */
    /* Called when a trial run begins and when it ends; there may be two trial runs. NULL: not
     * called. */
    void (*probing)(void *ctx, bool begins);
    void *probing_ctx;
} bm_cl_open_options;

/* bm_backend_opencl.open calls this on a separate thread (cl_watchdog.c), and sets only the options
 * `probing` and `probing_ctx`. */
bm_status bm_cl_backend_open(const bm_backend_cfg *cfg, const bm_cl_open_options *options,
                             bm_backend **out, bm_error *err);
/* The row of kernel parameters that the backend was opened with. */
const bm_kernel_params *bm_cl_backend_kernel_params(const bm_backend *backend);
/* Describe the effect of a row on this backend's device. If two rows have the same description,
 * they lead to the same program, cutting and batches. Errors are those of opening the device with
 * the row. */
bm_status bm_cl_backend_effect(const bm_backend *backend, const bm_kernel_params *row, char *out,
                               size_t cap, bm_error *err);

/* opencl_backend -- OpenCL devices as a backend: the interface for jobs.
 *
 * A backend that is opened through this table is watched, because it may stop answering
 * (cl_watchdog.c). The search for kernel parameters opens devices without a watchdog
 * (bm_cl_backend_open). */

extern const bm_backend_ops bm_backend_opencl;

/* The probe process (cl_child.h) calls this. Open the device without a trial run and close it
 * again, or list the devices on stdout. `device` is the argument WHAT of the process. The error's
 * message is the line that the process must print, and includes the whole text of the error. */
bm_status bm_backend_opencl_try(const char *device, const char *cache_dir, bm_error *err);
