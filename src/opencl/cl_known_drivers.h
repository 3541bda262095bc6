/* SPDX-License-Identifier: Apache-2.0 */
/* cl_known_drivers.h -- remembers which drivers listed their devices without harm and did not
 * change since, and which drivers recently hung while listing.
 *
 * A record has the rows of a successful listing. It is valid as long as two things are unchanged.
 * One is the environment: variables that loaders and drivers read, the vendor folders, the device
 * nodes in /dev, the user's groups, and the boot id. The other is the loaded files: path, device,
 * inode, size and times of each. Records are in the program cache (cl_cache.h). Records have only a
 * few keys, so new records replace old ones. If its address space is limited, a process neither
 * writes nor reads records, because the libraries that it can load depend on its other memory.
 *
 * The record of a listing that hung has the message and the time spent waiting. It is valid in the
 * same environment for ten minutes, because it is unknown which files were loaded. */
#pragma once

#include <bandmill/types.h>

#include "opencl/cl_listing.h"

/* Are the drivers of this environment known? The check takes one or two tenths of a millisecond and
 * loads nothing. `cache_dir` is that of cl_cache.h. *out receives the rows of the listing, or none
 * if the drivers are not known or there is no cache. *fresh: the listing is less than ten minutes
 * old. (An older listing may be wrong, because a device may appear or return without leaving a
 * trace in files.) */
bool bm_cl_drivers_known(const char *cache_dir, bm_cl_listing *out, bool *fresh);
/* Record a listing that this process has just made. Failures are ignored. */
void bm_cl_drivers_remember(const char *cache_dir, const bm_cl_listing *listing);
/* Forget the drivers of this environment. */
void bm_cl_drivers_forget(const char *cache_dir);
/* A listing that did not end. */
typedef struct bm_cl_hang {
    double seconds; /* how long the caller waited for the listing */
    double at;      /* bm_clock_seconds() when the wait ended */
    char note[640]; /* the message */
} bm_cl_hang;

/* Record a hang, replacing the last one. If hang->seconds is 0, only clear the last one. Failures
 * are ignored. */
void bm_cl_drivers_remember_hang(const char *cache_dir, const bm_cl_hang *hang);
/* Was a hang recorded in this environment less than ten minutes ago? */
bool bm_cl_drivers_hung(const char *cache_dir, bm_cl_hang *out);
/* Describe for messages the drivers that loaders find here, such as "driver pocl.icd" or "drivers
 * a.icd, b.icd in /etc/OpenCL/vendors". "": no driver is known. */
void bm_cl_drivers_names(char *out, size_t cap);
