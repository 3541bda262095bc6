/* device_open.c -- see device_open.h. */
#include "devices/device_open.h"

#include "cpu/cpu_backend.h"
#include "opencl/opencl_backend.h"

bm_status bm_device_open(const bm_device_info *device, const bm_backend_cfg *cfg, bm_backend **out,
                         bm_error *err)
{
    const bm_backend_ops *ops =
        device->kind == BM_DEVICE_NATIVE ? &bm_backend_cpu : &bm_backend_opencl;
    bm_backend_cfg own = *cfg;
    own.device = device->spec;
    return ops->open(&own, out, err);
}
