/* SPDX-License-Identifier: Apache-2.0 */
/* cl_probe.h -- the trial run: uses a driver's compiler for the first time in a child process
 * (cl_child.h).
 *
 * If a file in its cache is truncated, PoCL aborts at every run until the cache is removed. If the
 * disk of its cache is full, it calls exit. So a child opens the device before this process does.
 * The child builds the kernels, compares known answers, and leaves the binary in the cache. Its
 * argument is one line with everything that the build depends on (parts in brackets are optional):
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

#define BM_CL_PROBE_TEXT (BM_KERNEL_PARAMS_TEXT + 160u) /* bytes of the argument, at most */

/* Do the trial run of the device that `cfg` opens with these kernel parameters. Wait at most
 * settings->probe_seconds. `name`: the device's name, for messages.
 *
 * BM_OK: it succeeded, or there is no program to run. BM_ERR_DEVICE: it failed and reported why
 * (err->code is 0), ended without a report (ECHILD), hung (ETIMEDOUT), or could not be run (errno).
 * BM_ERR_CANCELLED: cfg->callbacks cancelled it. */
bm_status bm_cl_probe_run(const bm_backend_cfg *cfg, const bm_kernel_params *row, const char *name,
                          bm_error *err);
