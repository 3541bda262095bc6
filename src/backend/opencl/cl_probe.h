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
 * and must call bm_device_probe with the two, print the error as one line on stderr, and leave with
 * _exit(bm_status_exit_code(status)). It is $BANDMILL_PROBE if that is set ("" means: none), else
 * the running program if its file is named `bandmill`; any other program goes on without a probe.
 * DEVICE is "opencl:P.D@SCHEME,PERMS,BANDS,ROWS,SEED", and where texts are to be cut "+KIND:K"
 * behind it (bm_text_options.shingle, shingle_k); CACHE_DIR "" means none. */
#ifndef BM_BACKEND_OPENCL_CL_PROBE_H
#define BM_BACKEND_OPENCL_CL_PROBE_H

#include <bandmill/status.h>

#include "backend/opencl/cl_backend.h"

/* In the child: open the device without a probe and close it again. */
BM_API bm_status bm_device_probe(const char *device, const char *cache_dir, bm_error *err);

/* In the parent: run the probe for what `cfg` opens and wait, at most options->probe_seconds, or
 * $BANDMILL_PROBE_SECONDS, or 120. A row that is given is passed on as $BANDMILL_CL_ROW. BM_OK: it
 * succeeded, or there is no program to run. BM_ERR_DEVICE: it failed, died or hung; the message
 * says how. `name`: the device's, for the message. */
bm_status bm_cl_probe_run(const bm_backend_cfg *cfg, const bm_cl_open_options *options,
                          const char *name, bm_error *err);

#endif
