/* device_environment.h -- TEMPORARY: the settings of devices as the environment has them.
 *
 * The program is to read its environment and hand the settings in (bm_device_options); until its
 * public options have them, whoever opens devices asks here. The one place of the library that
 * reads BANDMILL_* for devices. */
#ifndef BM_DEVICES_DEVICE_ENVIRONMENT_H
#define BM_DEVICES_DEVICE_ENVIRONMENT_H

#include "backend/device_settings.h"

/* BANDMILL_PROBE, _PROBE_SECONDS, _DEVICE_SECONDS, _TUNING, _CL_SHAPE, _CL_ROW, _CL_LIMIT and
 * _CL_TEXT; strings are those of the environment. Devices that get stuck are counted for
 * bm_devices_left_behind. */
bm_device_settings bm_device_settings_from_environment(void);

#endif
