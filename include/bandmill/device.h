/* device.h -- what can sign here: the native CPU and every OpenCL device, and whether each computes
 * right.
 *
 * OpenCL is loaded when it is first asked for; a machine without a loader or a platform has zero
 * OpenCL devices, which is no error. */
#ifndef BANDMILL_DEVICE_H
#define BANDMILL_DEVICE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum bm_device_kind {
    BM_DEVICE_NATIVE,
    BM_DEVICE_CL_CPU,
    BM_DEVICE_CL_GPU,
    BM_DEVICE_CL_OTHER
} bm_device_kind;

typedef struct bm_device_info {
    char spec[32];      /* "cpu" or "opencl:P.D": what --device takes */
    char name[128];     /* for people */
    char platform[128]; /* "native" or the OpenCL platform */
    char driver[128];   /* version; for the native CPU the instruction set in use */
    bm_device_kind kind;
    uint32_t compute_units;
    uint32_t clock_mhz; /* the highest, as OpenCL says; 0: not known */
    uint64_t memory_bytes, max_alloc_bytes, local_bytes;
    bool usable;
    char why[256]; /* why it is not usable */
} bm_device_info;

/* All devices, the native CPU first. *out is an array of *n, freed with bm_devices_free. `note`
 * (may be NULL, cap bytes) receives one line on why there is no OpenCL device, or stays empty. */
BM_API bm_status bm_devices_list(bm_device_info **out, size_t *n, char *note, size_t cap,
                                 bm_error *err);
BM_API void bm_devices_free(bm_device_info *devices);

/* Known answers on one device (spec or name as --device takes it): BM_OK, BM_ERR_SELFTEST or
 * BM_ERR_DEVICE. `cache_dir` as in bm_job. *n_checks (may be NULL) receives how many answers were
 * compared. */
BM_API bm_status bm_device_self_test(const char *device, const char *cache_dir, uint32_t *n_checks,
                                     bm_error *err);

/* Threads that wait for ever in the driver of a device which stopped answering. A process that has
 * some should end by _exit once its output is written: exit handlers of the driver may wait for
 * them. */
BM_API uint32_t bm_devices_left_behind(void);

/* Build the kernels of one OpenCL device and compare one known answer: what `bandmill
 * __probe-opencl DEVICE CACHE_DIR` runs in a process of its own, since a driver's compiler may
 * abort. */
BM_API bm_status bm_device_probe(const char *device, const char *cache_dir, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
