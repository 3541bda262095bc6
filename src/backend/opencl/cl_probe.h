/* cl_probe.h -- the first use of a driver's compiler, in a process of its own.
 *
 * Some drivers end the process instead of returning an error: PoCL aborts on a truncated file in
 * its cache, at every run until the cache is removed, and calls exit when its cache disk is full. A
 * child forked after OpenCL was used hangs. So before a device is opened here, a program is run
 * that opens it there: builds the kernels, compares known answers, and leaves the binary in the
 * cache.
 *
 * That program is called as
 *
 *     PROGRAM __probe-opencl DEVICE CACHE_DIR
 *
 * and must call bm_backend_opencl_try with the two, print the error's message as a line of its own
 * on stderr (drivers write there too, so it begins with a mark), and leave with
 * _exit(bm_status_exit_code(status)). It is bm_device_settings.probe_program ("" means:
 * none), else the running program if its file is named `bandmill`; any other program goes on
 * without a probe. CACHE_DIR "" means none. DEVICE says all that decides what is built (one line;
 * what is in brackets may be missing):
 *
 *     opencl:P.D@SCHEME,PERMS,BANDS,ROWS,SEED[+KIND:K][/LIMIT][=PARAMS]
 *
 * KIND, K: bm_text_options.shingle, .shingle_k, where texts are to be cut. LIMIT: bytes of a
 * buffer. PARAMS: a row of kernel parameters (cl_kernel_params.h). */
#ifndef BM_BACKEND_OPENCL_CL_PROBE_H
#define BM_BACKEND_OPENCL_CL_PROBE_H

#include <bandmill/status.h>

#include "backend/backend.h"
#include "backend/opencl/cl_kernel_params.h"

#define BM_CL_PROBE_MARK    "bandmill-probe: "             /* that its last word begins with */
#define BM_CL_PROBE_SECONDS 120.0                          /* where no limit is set */
#define BM_CL_PROBE_TEXT    (BM_KERNEL_PARAMS_TEXT + 160u) /* bytes of DEVICE, at most */

/* Filled with DEVICE. `row` NULL: the device's own parameters. */
void bm_cl_probe_device(const bm_backend_cfg *cfg, const bm_kernel_params *row,
                        char out[BM_CL_PROBE_TEXT]);

/* Run the probe for what `cfg` opens, with these kernel parameters, and wait, at most
 * settings->probe_seconds. BM_OK: it succeeded, or there is no program to run. BM_ERR_DEVICE, and
 * the message says how: it failed and told why (err->code is 0), it died without a word (ECHILD), it
 * hung (ETIMEDOUT), or it could not be run (errno). `name`: the device's, for the message. */
bm_status bm_cl_probe_run(const bm_backend_cfg *cfg, const bm_kernel_params *row, const char *name,
                          bm_error *err);

#endif
