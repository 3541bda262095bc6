/* SPDX-License-Identifier: Apache-2.0 */
/* cl_child.h -- runs a driver in a process of its own, with a time limit.
 *
 * Some drivers end the process instead of returning an error, or never return: PoCL aborts on a
 * truncated file in its cache or if it gets no threads, and calls exit when the disk of its cache
 * is full. A child that was only forked after OpenCL was used hangs. So a program is run:
 *
 *     PROGRAM __probe-opencl WHAT CACHE_DIR
 *
 * PROGRAM must call bm_backend_opencl_try with the last two arguments, print the error's message as
 * a line of its own on stderr (drivers write there too, so the line begins with a mark), and exit
 * by _exit(bm_status_exit_code(status)). WHAT is a device to try (cl_probe.h), or BM_PROBE_LIST for
 * the list of devices (cl_list.h). The program is bm_device_settings.probe_program ("": none), else
 * the running program if its file is named `bandmill`; other programs run no child. */
#pragma once

#include <limits.h>

#include <bandmill/status.h>

#include "model/backend.h"

#define BM_CL_PROBE_MARK    "bandmill-probe: " /* the child's message begins with this */
#define BM_CL_PROBE_SECONDS 120.0              /* the limit if none is set */
#define BM_CL_WORDS         800                /* bytes of a quoted line, at most */
#define BM_CL_LOOK_SECONDS  0.1                /* between two checks of the child */

/* How long to wait for a driver. */
typedef struct bm_cl_patience {
    double seconds;                /* the time limit, from `begin` */
    const bm_callbacks *callbacks; /* `cancelled` stops the wait; `log` is called once if it takes
                                      long; NULL: neither */
    double begin;
    bool logged, cancelled;
} bm_cl_patience;

typedef struct bm_cl_child {
    char program[PATH_MAX], cache_dir[PATH_MAX];
    const char *what;
    bm_cl_patience patience; /* time limit, from the start of the child, which is killed at its
                              * end */
    int answer;              /* descriptor that becomes the child's stdout; -1: /dev/null */
} bm_cl_child;

typedef struct bm_cl_ending {
    bool late;               /* we killed it */
    int status;              /* from waitpid; means nothing if `late` */
    char driver[300];        /* the library in use when it ended; "": unknown */
    bool reported;           /* `words` is the program's own message, after its mark */
    char words[BM_CL_WORDS]; /* if not `reported`: the driver's last line that is not blank; may be
                                "" */
} bm_cl_ending;

void bm_cl_patience_begin(bm_cl_patience *patience);
/* The seconds left, at most BM_CL_LOOK_SECONDS; 0: stop waiting. */
double bm_cl_patience_left(bm_cl_patience *patience);

/* Set the program, the cache and the time limit from `settings` (may be NULL) and the running
 * program. false: there is no program to run. */
bool bm_cl_child_init(bm_cl_child *child, const bm_device_settings *settings, const char *cache_dir,
                      const char *what);
/* Run it and wait for its end. BM_ERR_DEVICE (err->code is errno): it could not be run. */
bm_status bm_cl_child_run(bm_cl_child *child, bm_cl_ending *ending, bm_error *err);
