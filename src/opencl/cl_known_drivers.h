/* SPDX-License-Identifier: Apache-2.0 */
/* cl_known_drivers.h -- remembers drivers that have listed their devices without harm and are
 * unchanged since, and drivers that hung recently while listing.
 *
 * A record has the rows of a successful listing. It is valid as long as two things are unchanged:
 * the environment (variables that loaders and drivers read, the vendor folders, the device nodes in
 * /dev, the user's groups, the boot of the machine), and every file that was loaded (path, device,
 * inode, size and times). Records are in the program cache (cl_cache.h). There are only a few keys
 * for them, so new records replace old ones. A process with limited address space neither writes
 * nor reads records, since the libraries that it can load depend on its other memory.
 *
 * The record of a listing that hung has its message and the time spent waiting. It is valid for ten
 * minutes in the same environment, since it is unknown which files were loaded. */
#pragma once

#include <bandmill/types.h>

#include "opencl/cl_listing.h"

/* Are the drivers of this environment known? Takes one or two tenths of a millisecond and loads
 * nothing. `cache_dir` as in cl_cache.h. *out receives the rows of the listing; *fresh: the listing
 * is less than ten minutes old (a device may appear or return without leaving a trace in files). No
 * rows if the drivers are not known or there is no cache. */
bool bm_cl_drivers_known(const char *cache_dir, bm_cl_listing *out, bool *fresh);
/* Record this listing; called by the process that has just made it. Failures are ignored. */
void bm_cl_drivers_remember(const char *cache_dir, const bm_cl_listing *listing);
/* Forget the drivers of this environment. */
void bm_cl_drivers_forget(const char *cache_dir);
/* A listing that did not end. */
typedef struct bm_cl_hang {
    double seconds; /* how long the caller waited */
    double at;      /* bm_clock_seconds() when the wait ended */
    char note[640]; /* the message */
} bm_cl_hang;

/* Record a hang, replacing the last one; seconds 0: clear it. Failures are ignored. */
void bm_cl_drivers_remember_hang(const char *cache_dir, const bm_cl_hang *hang);
/* Is a hang in this environment recorded that is less than ten minutes old? */
bool bm_cl_drivers_hung(const char *cache_dir, bm_cl_hang *out);
/* Describe the drivers that loaders find here, for messages: "driver pocl.icd", "drivers a.icd,
 * b.icd in /etc/OpenCL/vendors"; "": none is known. */
void bm_cl_drivers_names(char *out, size_t cap);
