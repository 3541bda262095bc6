/* SPDX-License-Identifier: Apache-2.0 */
/* device.h -- the devices that can sign on this machine (the native CPU and every OpenCL device),
 * and a self-test for each.
 *
 * OpenCL is loaded on first use. If a machine has no loader or no platform, it has zero OpenCL
 * devices; this is no error.
 *
 * Processes. A list of devices is plain memory: a forked child may read and close its copy. Most
 * OpenCL drivers do not work in a forked child of a process that has used them. Such a child should
 * sign on the native CPU, or exec a new program (in Python: `spawn`). */
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
    BM_DEVICE_CL_OTHER,
    BM_DEVICE_CL_NONE /* an OpenCL platform without devices; `why` is its error */
} bm_device_kind;

/* The library owns this struct. Read it through the pointer, because later versions may add fields
 * at the end. */
typedef struct bm_device_info {
    char spec[32];      /* "cpu" or "opencl:P.D", a value of --device; "opencl:P" for a platform
                         * without devices */
    char name[128];     /* for people; "" for a platform without devices */
    char platform[128]; /* "native" or the OpenCL platform */
    char driver[128];   /* driver version; for the native CPU, the instruction set in use */
    bm_device_kind kind;
    uint32_t compute_units;
    uint32_t clock_mhz; /* highest clock, as OpenCL reports it; 0: not known */
    uint64_t memory_bytes, max_alloc_bytes, local_bytes;
    bool usable;
    char why[256]; /* the reason why the device is not usable */
    /* For OpenCL devices only: */
    uint64_t unified_bytes; /* bytes of memory that the device shares with the host; 0: the device
                             * has memory of its own */
    char pci[24];           /* PCI address, "0000:41:00.0"; "": not known */
    char uuid[40];          /* UUID as the driver reports it, in hexadecimal digits; "": not
                             * known */
    char same_as[32];       /* spec of a row for the same GPU with a preferred driver; "": there is
                             * none. A device spec that fits both rows selects the preferred row */
    char same_by[8];        /* what shows that it is the same GPU: "pci", "uuid" or "name" (with the
                               memory) */
} bm_device_info;

/* A list of all devices, the native CPU first. An OpenCL platform without devices has a row too. */
typedef struct bm_device_list bm_device_list;
BM_API bm_status bm_device_list_open(bm_device_list **out, bm_error *err);

typedef struct bm_device_list_options {
    size_t struct_size;
    /* Settings for queries to drivers. A separate process makes these queries (docs/opencl.md).
     * Only `cache_dir`, `probe_program`, `probe_seconds` and `n_stuck` are used. */
    bm_device_options device;
    bm_callbacks callbacks; /* `log` (about waiting for a driver) and `cancelled` are called,
                               `progress` is not */
} bm_device_list_options;

BM_API void bm_device_list_options_init_sized(bm_device_list_options *options, size_t struct_size);
static inline void bm_device_list_options_init(bm_device_list_options *options)
{
    bm_device_list_options_init_sized(options, sizeof *options);
}

/* bm_device_list_open with options for the queries to drivers. */
BM_API bm_status bm_device_list_open_with(const bm_device_list_options *options,
                                          bm_device_list **out, bm_error *err);
BM_API size_t bm_device_list_count(const bm_device_list *list);
/* Return device number `index`, valid until close. NULL: there are no more devices. */
BM_API const bm_device_info *bm_device_list_at(const bm_device_list *list, size_t index);
/* Return the reason why there is no OpenCL device, as one line, or "" if there is one. */
BM_API const char *bm_device_list_note(const bm_device_list *list);
/* Returns true if there is no OpenCL device because a driver hung, died or answered nonsense. */
BM_API bool bm_device_list_broken(const bm_device_list *list);
BM_API void bm_device_list_close(bm_device_list *list); /* NULL is fine */

typedef struct bm_self_test_options {
    size_t struct_size;
    bm_device_options device; /* `device`: one device, by its spec or name; NULL: "cpu" */
    /* `log` receives notes about a device that passes, for example that its compiler fails to build
     * a kernel shape. The other callbacks are not called. */
    bm_callbacks callbacks;
} bm_self_test_options;

BM_API void bm_self_test_options_init_sized(bm_self_test_options *options, size_t struct_size);
static inline void bm_self_test_options_init(bm_self_test_options *options)
{
    bm_self_test_options_init_sized(options, sizeof *options);
}

/* Compare the results of one device with known answers: BM_OK, BM_ERR_SELFTEST or BM_ERR_DEVICE.
 * *n_checks becomes the number of compared answers; `n_checks` may be NULL. */
BM_API bm_status bm_device_self_test(const bm_self_test_options *options, uint32_t *n_checks,
                                     bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
