/* SPDX-License-Identifier: Apache-2.0 */
/* cl_known_drivers.h -- drivers that have listed their devices without harm, and are unchanged
 * since; and drivers that hung when they were asked, not long ago.
 *
 * A record holds the rows of a listing that went well. It holds for the same environment (variables
 * that loaders and drivers read, the folders of vendors, the device nodes in /dev, the user's
 * groups, the start of the machine) and as long as every file that was loaded for it is the same
 * one: path, device, inode, size and times. It lies in the cache of programs (cl_cache.h), in one
 * of a few places, so that new ones replace old ones. A process with a limited address space
 * neither writes nor reads records: the libraries that it can load depend on its other memory.
 *
 * The record of a listing that hung has its message and the time that was spent waiting. It holds
 * for ten minutes in the same environment, since nobody knows which files were loaded. */
#pragma once

#include <bandmill/types.h>

#include "opencl/cl_listing.h"

/* Costs a tenth of a millisecond or two, and loads nothing. `cache_dir` as in cl_cache.h. Filled
 * with the listed rows, and whether the listing was less than ten minutes ago (a device may come
 * back and leave no trace in files); with no rows where the drivers are not known, or there is no
 * cache. */
bool bm_cl_drivers_known(const char *cache_dir, bm_cl_listing *out, bool *fresh);
/* In a process that has just made this list of its devices. What fails is not remembered. */
void bm_cl_drivers_remember(const char *cache_dir, const bm_cl_listing *listing);
/* The drivers of this environment, known or not, are not known any more. */
void bm_cl_drivers_forget(const char *cache_dir);
/* A listing that did not end. */
typedef struct bm_cl_hang {
    double seconds; /* that it was waited for */
    double at;      /* bm_clock_seconds() then */
    char note[640]; /* the text */
} bm_cl_hang;

/* Remember it instead of the last; of seconds 0: none. What fails is not remembered. */
void bm_cl_drivers_remember_hang(const char *cache_dir, const bm_cl_hang *hang);
/* Is one of this environment remembered, less than ten minutes old? */
bool bm_cl_drivers_hung(const char *cache_dir, bm_cl_hang *out);
/* Filled with the drivers that loaders find here, in words: "driver pocl.icd", "drivers a.icd,
 * b.icd in /etc/OpenCL/vendors"; "" where none is known. */
void bm_cl_drivers_names(char *out, size_t cap);
