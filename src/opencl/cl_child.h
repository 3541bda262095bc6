/* SPDX-License-Identifier: Apache-2.0 */
/* cl_child.h -- a driver in a process of its own, with a time limit.
 *
 * Some drivers end the process instead of returning an error, or never return: PoCL aborts on a
 * truncated file in its cache and where it gets no threads, and calls exit when its cache disk is
 * full. A child forked after OpenCL was used hangs. So a program is run,
 *
 *     PROGRAM __probe-opencl WHAT CACHE_DIR
 *
 * which must call bm_backend_opencl_try with the two, print the error's message as a line of its
 * own on stderr (drivers write there too, so it begins with a mark), and leave with
 * _exit(bm_status_exit_code(status)). WHAT is a device to be tried (cl_probe.h) or the word that
 * asks for the list of devices (cl_list.h). The program is bm_device_settings.probe_program (""
 * means: none), else the running program if its file is named `bandmill`; any other program does
 * without. */
#pragma once

#include <limits.h>

#include <bandmill/status.h>

#include "model/backend.h"

#define BM_CL_PROBE_MARK    "bandmill-probe: " /* that its last word begins with */
#define BM_CL_PROBE_SECONDS 120.0              /* where no limit is set */
#define BM_CL_WORDS         800                /* bytes of a line that is quoted, at most */
#define BM_CL_LOOK_SECONDS  0.1                /* between two checks of the child */

/* How long a driver is waited for. */
typedef struct bm_cl_patience {
    double seconds;                /* from its beginning */
    const bm_callbacks *callbacks; /* `cancelled` ends it, and `log` is called once where it takes
                                      long; NULL: nobody asks */
    double begin;
    bool logged, cancelled;
} bm_cl_patience;

typedef struct bm_cl_child {
    char program[PATH_MAX], cache_dir[PATH_MAX];
    const char *what;
    bm_cl_patience patience; /* it is ended then; begins when it is run */
    int answer; /* descriptor that it gets as its stdout; -1: nothing is to be written there */
} bm_cl_child;

typedef struct bm_cl_ending {
    bool late;               /* it was ended by us */
    int status;              /* as waitpid gives it; not if late */
    char driver[300];        /* the library that was at work when it ended; "": not known */
    bool reported;           /* `words` are the program's own, after its mark */
    char words[BM_CL_WORDS]; /* else the last of the driver's that are not blank; may be "" */
} bm_cl_ending;

void bm_cl_patience_begin(bm_cl_patience *patience);
/* Seconds that are left, at most BM_CL_LOOK_SECONDS; 0: no more. */
double bm_cl_patience_left(bm_cl_patience *patience);

/* Set the program, the cache and the time limit from `settings` (may be NULL) and the running
 * program. False: there is no program to run. */
bool bm_cl_child_init(bm_cl_child *child, const bm_device_settings *settings, const char *cache_dir,
                      const char *what);
/* Run it and wait for its end. An error (BM_ERR_DEVICE, the code is errno): it could not be run. */
bm_status bm_cl_child_run(bm_cl_child *child, bm_cl_ending *ending, bm_error *err);
