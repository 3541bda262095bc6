/* SPDX-License-Identifier: Apache-2.0 */
/* cl_listing.h -- the table of OpenCL devices: a row for each device, and for each platform without
 * devices a row with the reason. All code that chooses or shows devices uses these rows. */
#pragma once

#include <bandmill/device.h>
#include <bandmill/status.h>

#include "model/backend.h"

typedef struct bm_cl_listing {
    bm_device_info *rows; /* in the order of platforms (bm_free) */
    size_t n;
    bool broken;    /* a driver hung, crashed, ended the process or answered nonsense: no devices */
    bool late;      /* broken because a driver hung */
    char note[640]; /* a line that explains why there are no rows; "": there are rows */
} bm_cl_listing;

/* Which rows the caller needs. */
typedef enum bm_cl_need {
    BM_CL_NEED_ALL, /* the devices present now */
    BM_CL_NEED_GPUS /* GPUs present now; if a recent listing found no GPU, its rows are enough */
} bm_cl_need;

/* List all OpenCL devices from this process. If a driver hangs or crashes, so does the process. If
 * there is no loader or no platform, the result is zero devices and a note. BM_ERR_DEVICE: the
 * drivers' answers are nonsense. In cl_device.c. */
bm_status bm_cl_list(bm_cl_listing *out, bm_error *err);
/* Like bm_cl_list, but safe (cl_list.c). A broken driver is not an error: it gives zero devices,
 * `broken` and a note. `settings` may be NULL. `cache_dir` is that of cl_cache.h. `callbacks` may
 * be NULL; its `log` is called if the listing takes long, and its `cancelled` stops the listing
 * with BM_ERR_CANCELLED. */
bm_status bm_cl_list_safely(bm_cl_need need, const bm_device_settings *settings,
                            const char *cache_dir, const bm_callbacks *callbacks,
                            bm_cl_listing *out, bm_error *err);

/* cl_same_gpu -- recognizes a GPU that several platforms list. Sets same_as and same_by in all rows
 * of one GPU on different platforms, except in the row with the preferred driver. */
void bm_cl_mark_same(bm_device_info *rows, size_t n);
/* Is the device a program that emulates a device (Oclgrind, Intel's FPGA emulator)? */
bool bm_cl_is_emulator(const bm_device_info *device);
