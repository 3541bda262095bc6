/* SPDX-License-Identifier: Apache-2.0 */
/* cl_backend.h -- an OpenCL device as a backend. The caller's own thread makes its calls, so a
 * driver that hangs hangs it too. */
#pragma once

#include <stdbool.h>

#include "model/backend.h"
#include "opencl/cl_program.h"

/* How a device is opened, with more say than bm_backend_cfg gives. {0}: all as usual. */
typedef struct bm_cl_open_options {
    bool no_probe;     /* this is the trial run */
    bool no_zero_copy; /* stage everything, also where memory is shared */
    bool brief;        /* no long document among the known answers: the device is an interpreter */
    /* Told when a trial run begins and when it is over; there may be two. NULL: nobody. */
    void (*probing)(void *ctx, bool begins);
    void *probing_ctx;
} bm_cl_open_options;

/* bm_backend_opencl.open is this with all options at 0, on a thread of its own (cl_watchdog.c). */
bm_status bm_cl_backend_open(const bm_backend_cfg *cfg, const bm_cl_open_options *options,
                             bm_backend **out, bm_error *err);
/* Was the program taken from the cache? */
bool bm_cl_backend_was_cached(const bm_backend *backend);
/* The row of kernel parameters that it was opened with. */
const bm_kernel_params *bm_cl_backend_kernel_params(const bm_backend *backend);
/* Describe the effect of a row on this backend's device: rows with the same description are built,
 * cut and fed alike. Errors as when a device is opened with the row. */
bm_status bm_cl_backend_effect(const bm_backend *backend, const bm_kernel_params *row, char *out,
                               size_t cap, bm_error *err);
/* Words and keys that the self-test compared at open. */
uint32_t bm_cl_backend_checks(const bm_backend *backend);

/* opencl_backend -- OpenCL devices as a backend: what a job sees of this room.
 *
 * A backend that is opened through the table may stop answering and is watched (cl_watchdog.c). The
 * search for kernel parameters opens a device without that (cl_backend.h). */

extern const bm_backend_ops bm_backend_opencl;

/* In a process of its own (cl_child.h): open the device without a trial and close it again; or list
 * the devices on stdout. `device` is the text that the process was given. The error's message is
 * the line that the process must print; it has all the text of the error. */
bm_status bm_backend_opencl_try(const char *device, const char *cache_dir, bm_error *err);
