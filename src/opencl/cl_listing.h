/* SPDX-License-Identifier: Apache-2.0 */
/* cl_listing.h -- the table of OpenCL devices: a row for each device, and for each platform without
 * devices a row with the reason. Everything that chooses or shows devices reads these rows. */
#pragma once

#include <bandmill/device.h>
#include <bandmill/status.h>

#include "model/backend.h"

typedef struct bm_cl_listing {
    bm_device_info *rows; /* in the order of platforms (bm_free) */
    size_t n;
    bool broken;    /* a driver hung, died, ended the process or gave nonsense: no devices */
    bool late;      /* because it hung */
    char note[640]; /* one line on why there is no row; "": there are rows */
} bm_cl_listing;

/* Which rows the caller needs. */
typedef enum bm_cl_need {
    BM_CL_NEED_ALL, /* the devices that are there now */
    BM_CL_NEED_GPUS /* GPUs now; where a listing of the last minutes found none, its rows will do */
} bm_cl_need;

/* List every OpenCL device from this process: a driver that hangs or dies takes the process with
 * it. No loader, no platform: zero devices and a note. BM_ERR_DEVICE: what the drivers say
 * makes no sense. In cl_device.c. */
bm_status bm_cl_list(bm_cl_listing *out, bm_error *err);
/* The same, in a child process (cl_list.c): a broken driver is no error but zero devices, `broken`
 * and a note. `settings` may be NULL; `cache_dir` as in cl_cache.h. Of `callbacks` (may be NULL)
 * `log` is told where it takes long, and `cancelled` ends it: BM_ERR_CANCELLED. */
bm_status bm_cl_list_safely(bm_cl_need need, const bm_device_settings *settings,
                            const char *cache_dir, const bm_callbacks *callbacks,
                            bm_cl_listing *out, bm_error *err);

/* cl_same_gpu -- one GPU that is under two platforms. Fill same_as and same_by of the rows: of
 * rows of different platforms that are one GPU, all but the one with the preferred driver. */
void bm_cl_mark_same(bm_device_info *rows, size_t n);
/* Is the device a program that imitates one (Oclgrind, Intel's FPGA emulator)? */
bool bm_cl_is_emulator(const bm_device_info *device);
