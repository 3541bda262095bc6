/* device_pick.h -- what `--device` means on this machine: a list of devices to open.
 *
 * auto (GPUs if there are, else the CPU), cpu, gpu (every GPU), opencl (the first device),
 * opencl:P.D, all (every GPU and the native CPU), or a part of a device's name; several with
 * commas. "cpu" alone loads no OpenCL. */
#ifndef BM_DEVICES_DEVICE_PICK_H
#define BM_DEVICES_DEVICE_PICK_H

#include <bandmill/device.h>

typedef struct bm_device_pick {
    bm_device_info *devices; /* in the order of bm_device_list, each once */
    size_t n;
    bool fallback; /* `auto`: a device that fails ends on the CPU with a warning */
    bool broken;   /* an OpenCL driver is: none of its devices is there, and `why` is a warning */
    char why[700]; /* one line for people on what `auto` chose; empty: nothing to say */
} bm_device_pick;

/* What options->device means (NULL or "": auto). Nothing matches: BM_ERR_DEVICE, naming the word.
 * `callbacks` (may be NULL): drivers may be waited for, see cl_listing.h. */
bm_status bm_device_pick_open(const bm_device_options *options, const bm_callbacks *callbacks,
                              bm_device_pick *out, bm_error *err);
/* All devices, the native CPU first. `why`: why there is no OpenCL device, or "". */
bm_status bm_device_pick_list(const bm_device_options *options, const bm_callbacks *callbacks,
                              bm_device_pick *out, bm_error *err);
void bm_device_pick_reset(bm_device_pick *pick);

#endif
