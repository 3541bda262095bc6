/* SPDX-License-Identifier: Apache-2.0 */
/* cl_child.h -- runs a driver in a process of its own, with a time limit.
 *
 * Some drivers never return, or end the process instead of returning an error. For example, PoCL
 * aborts if a file in its cache is truncated or if it gets no threads, and calls exit if the disk
 * of its cache is full. A child that is only forked from a process that used OpenCL hangs. So a
 * program is run:
 *
 *     PROGRAM __probe-opencl WHAT CACHE_DIR
 *
 * PROGRAM must call bm_backend_opencl_try with the last two arguments. It must print the error's
 * message as a line of its own on stderr; the line begins with a mark, because drivers write there
 * too. It must exit by _exit(bm_status_exit_code(status)). WHAT is a device to try (cl_probe.h), or
 * BM_PROBE_LIST for the list of devices (cl_list.h). PROGRAM is bm_device_settings.probe_program
 * ("": none). If that is not set, it is the running program, provided that its file is named
 * `bandmill`. Otherwise no child is run. */
#pragma once

#include <limits.h>

#include <bandmill/status.h>

#include "model/backend.h"

#define BM_CL_PROBE_MARK    "bandmill-probe: " /* the child's message begins with this */
#define BM_CL_PROBE_SECONDS 120.0              /* the time limit if none is set */
#define BM_CL_WORDS         800                /* bytes of a quoted line, at most */
#define BM_CL_LOOK_SECONDS  0.1                /* time between two checks of the child */

/* How long to wait for a driver. */
typedef struct bm_cl_patience {
    double seconds;                /* the time limit, from `begin` */
    const bm_callbacks *callbacks; /* `cancelled` stops the wait; `log` is called once if the wait
                                      is long; NULL: neither */
    double begin;
    bool logged, cancelled;
} bm_cl_patience;

typedef struct bm_cl_child {
    char program[PATH_MAX], cache_dir[PATH_MAX];
    const char *what;
    bm_cl_patience patience; /* time limit, counted from the start of the child; when it ends, the
                              * child is killed */
    int answer;              /* descriptor that becomes the child's stdout; -1: /dev/null */
} bm_cl_child;

typedef struct bm_cl_ending {
    bool late;               /* the time limit ended, and the child was killed */
    int status;              /* from waitpid; meaningless if `late` */
    char driver[300];        /* the driver library in use when the child ended; "": unknown */
    bool reported;           /* `words` is the program's own message, after its mark */
    char words[BM_CL_WORDS]; /* if not `reported`: the last non-blank line of the driver; may be
                                "" */
} bm_cl_ending;

void bm_cl_patience_begin(bm_cl_patience *patience);
/* The seconds left, at most BM_CL_LOOK_SECONDS; 0: stop waiting. Also logs a long wait, and asks
 * the caller whether to stop. */
double bm_cl_patience_left(bm_cl_patience *patience);

/* Set the program, the cache and the time limit from `settings` (may be NULL) and the running
 * program. Returns false if there is no program to run. */
bool bm_cl_child_init(bm_cl_child *child, const bm_device_settings *settings, const char *cache_dir,
                      const char *what);
/* Run the child and wait for its end. BM_ERR_DEVICE, with errno in err->code: it could not be
 * run. */
bm_status bm_cl_child_run(bm_cl_child *child, bm_cl_ending *ending, bm_error *err);
