/* device_environment.c -- TEMPORARY, see device_environment.h: to go with the public functions
 * bm_device_probe and bm_devices_left_behind, and the state that the latter shows. */
#include "pipeline/devices/device_environment.h"

#include <stdlib.h>
#include <string.h>

#include <bandmill/device.h>

#include "backend/opencl/opencl_backend.h"

static uint32_t n_stuck;

uint32_t bm_devices_left_behind(void)
{
    return __atomic_load_n(&n_stuck, __ATOMIC_RELAXED);
}

bm_status bm_device_probe(const char *device, const char *cache_dir, bm_error *err)
{
    return bm_backend_opencl_try(device, cache_dir, err);
}

static double seconds_of(const char *name)
{
    const char *set = getenv(name);
    const double seconds = set != NULL ? strtod(set, NULL) : 0;
    return seconds > 0 ? seconds : 0;
}

static bm_text_offload_wish text_offload(void)
{
    static const char *const words[] = {[BM_TEXT_AUTO] = "auto",
                                        [BM_TEXT_OFF] = "off",
                                        [BM_TEXT_TRIAL] = "trial",
                                        [BM_TEXT_ON] = "on"};
    const char *set = getenv("BANDMILL_CL_TEXT");
    for (size_t i = 0; set != NULL && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(set, words[i]) == 0)
            return (bm_text_offload_wish)i;
    return BM_TEXT_AUTO;
}

bm_device_settings bm_device_settings_from_environment(void)
{
    const char *limit = getenv("BANDMILL_CL_LIMIT");
    return (bm_device_settings){.probe_program = getenv("BANDMILL_PROBE"),
                                .probe_seconds = seconds_of("BANDMILL_PROBE_SECONDS"),
                                .call_seconds = seconds_of("BANDMILL_DEVICE_SECONDS"),
                                .buffer_limit_bytes = limit != NULL ? strtoull(limit, NULL, 10) : 0,
                                .tuning_path = getenv("BANDMILL_TUNING"),
                                .kernel_family = getenv("BANDMILL_CL_SHAPE"),
                                .kernel_params = getenv("BANDMILL_CL_ROW"),
                                .text_offload = text_offload(),
                                .n_stuck = &n_stuck};
}
