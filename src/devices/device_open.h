/* device_open.h -- one device of the listing, opened as a backend: the only place that chooses
 * between the rows of the table of backends. */
#ifndef BM_DEVICES_DEVICE_OPEN_H
#define BM_DEVICES_DEVICE_OPEN_H

#include "model/backend.h"

/* The native CPU or the OpenCL device that `device` is; cfg->device is not read. Closed with
 * bm_backend_close. */
bm_status bm_device_open(const bm_device_info *device, const bm_backend_cfg *cfg, bm_backend **out,
                         bm_error *err);

#endif
