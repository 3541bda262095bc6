/* SPDX-License-Identifier: Apache-2.0 */
/* cl_probe.h -- the trial run: first use of a driver's compiler, in a child process (cl_child.h).
 *
 * PoCL aborts on a truncated file in its cache, at every run until the cache is removed, and calls
 * exit when the disk of its cache is full. So before this process opens a device, a child does: it
 * builds the kernels, compares known answers, and leaves the binary in the cache. Its argument has
 * everything that the build depends on (one line; parts in brackets are optional):
 *
 *     opencl:P.D@SCHEME,PERMS,BANDS,ROWS,SEED[+KIND:K][/LIMIT][=PARAMS]
 *
 * KIND, K: bm_text_options.shingle and .shingle_k, if the device cuts texts. LIMIT: bytes of a
 * buffer. PARAMS: a row of kernel parameters (cl_program.h). */
#pragma once

#include <bandmill/status.h>

#include "model/backend.h"
#include "opencl/cl_child.h"
#include "opencl/cl_program.h"

#define BM_CL_PROBE_TEXT (BM_KERNEL_PARAMS_TEXT + 160u) /* bytes of this line, at most */

/* Run the probe for the device that `cfg` opens with these kernel parameters, and wait at most
 * settings->probe_seconds. BM_OK: it succeeded, or there is no program to run. BM_ERR_DEVICE: it
 * failed and reported why (err->code is 0), it ended without a report (ECHILD), it hung
 * (ETIMEDOUT), or it could not be run (errno). BM_ERR_CANCELLED: cfg->callbacks cancelled it.
 * `name`: the device's name, for messages. */
bm_status bm_cl_probe_run(const bm_backend_cfg *cfg, const bm_kernel_params *row, const char *name,
                          bm_error *err);
