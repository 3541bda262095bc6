/* SPDX-License-Identifier: Apache-2.0 */
/* cl_probe.h -- the first use of a driver's compiler, in a process of its own (cl_child.h).
 *
 * PoCL aborts on a truncated file in its cache, at every run until the cache is removed, and calls
 * exit when its cache disk is full. So before a device is opened here, it is opened there: the
 * child builds the kernels, compares known answers, and leaves the binary in the cache. It is told
 * everything that decides the build (one line; parts in brackets may be missing):
 *
 *     opencl:P.D@SCHEME,PERMS,BANDS,ROWS,SEED[+KIND:K][/LIMIT][=PARAMS]
 *
 * KIND, K: bm_text_options.shingle, .shingle_k, where texts are to be cut. LIMIT: bytes of a
 * buffer. PARAMS: a row of kernel parameters (cl_program.h). */
#pragma once

#include <bandmill/status.h>

#include "model/backend.h"
#include "opencl/cl_child.h"
#include "opencl/cl_program.h"

#define BM_CL_PROBE_TEXT (BM_KERNEL_PARAMS_TEXT + 160u) /* bytes of that line, at most */

/* Run the probe for what `cfg` opens, with these kernel parameters, and wait, at most
 * settings->probe_seconds. BM_OK: it succeeded, or there is no program to run. BM_ERR_DEVICE, with
 * one of these messages: it failed and told why (err->code is 0), it died without a word (ECHILD),
 * it hung (ETIMEDOUT), or it could not be run (errno). BM_ERR_CANCELLED: cfg->callbacks said so.
 * `name`: the device's, for the message. */
bm_status bm_cl_probe_run(const bm_backend_cfg *cfg, const bm_kernel_params *row, const char *name,
                          bm_error *err);
