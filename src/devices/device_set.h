/* SPDX-License-Identifier: Apache-2.0 */
/* device_set.h -- the devices of a job: the native CPU, and a worker for each OpenCL device.
 *
 * Batches from a worker are checked by samples: one document in 1,024, at least one in each batch,
 * is signed again by the native CPU, from its text if the device got texts. At most one hash in 128
 * is signed again: if a document is too long for that, the one of the batch that is cheapest to
 * check is used instead, or the check waits for later batches. Of a long document only four words
 * are compared. A worker that fails or gives a wrong answer is dead: if the device was chosen by
 * `auto`, the CPU signs its batches, else the job ends with BM_ERR_DEVICE. Results never depend on
 * which device signed a document.
 *
 * Any number of threads may call bm_device_set_sign_cpu; each worker is used by one thread. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <bandmill/device.h>
#include <bandmill/types.h>

#include "base/meter.h"
#include "devices/text_offload.h"
#include "model/backend.h"
#include "sketch/scheme.h"
#include "text/shingler.h"

/* device_pick -- the devices that `--device` selects on this machine.
 *
 * Words: auto (GPUs if there are any, else the CPU), cpu, gpu (every GPU), opencl (the first
 * device), opencl:P.D, all (every GPU and the native CPU), or a part of a device's name; several
 * are separated by commas. A GPU that has two rows is selected once. "cpu" alone does not load
 * OpenCL. */

typedef struct bm_device_pick {
    bm_device_info *devices; /* in the order of bm_device_list, each once */
    size_t n;
    bool fallback; /* `auto`: the CPU replaces a device that fails, with a warning */
    bool asked;    /* the user named devices, so the choice is logged more prominently */
    bool measured; /* `auto`, alone or with `cpu`: OpenCL devices are used only if they pay off */
    bool broken;   /* an OpenCL driver is broken: none of its devices is available, and `why` is a
                      warning */
    char why[700]; /* a line for users on what `auto` chose; "": nothing to report */
} bm_device_pick;

/* Are the words just "auto", which leaves the choice to the library? */
bool bm_device_is_auto(const char *words);
/* Find the devices that options->device selects (NULL: cpu). BM_ERR_DEVICE: no device matches a
 * word, which the message names. `callbacks` (may be NULL): for waiting for drivers, see
 * cl_listing.h. */
bm_status bm_device_pick_open(const bm_device_options *options, const bm_callbacks *callbacks,
                              bm_device_pick *out, bm_error *err);
/* List all devices, the native CPU first. out->why: why there is no OpenCL device, or "". */
bm_status bm_device_pick_list(const bm_device_options *options, const bm_callbacks *callbacks,
                              bm_device_pick *out, bm_error *err);
void bm_device_pick_reset(bm_device_pick *pick);

/* device_open -- opens a listed device as a backend: the only place that chooses between the native
 * and the OpenCL backend. */

/* Open `device`, the native CPU or an OpenCL device; cfg->device is ignored. Close with
 * bm_backend_close. */
bm_status bm_device_open(const bm_device_info *device, const bm_backend_cfg *cfg, bm_backend **out,
                         bm_error *err);

typedef struct bm_device_worker {
    bm_backend *backend;
    bm_device_info info;
    atomic_bool dead;
    bm_status after_death; /* how the batches of a dead worker end. BM_OK: the CPU signs them; else
                            * they fail with this error */
    bm_error death;
    pthread_mutex_t lock;  /* guards everything below, and dying */
    uint64_t n_docs;       /* documents that the device signed */
    bm_shingler *shingler; /* if devices get texts: makes hashes of these, for the check or for
                            * signing without the device */
    bm_shingle_batch checked;
    uint64_t credit; /* hashes that may still be signed again to check the device */
} bm_device_worker;

typedef struct bm_device_set {
    bm_text_offload path; /* whether workers get texts */
    bm_meter *meter;
    bm_backend *cpu;        /* always open: chosen, or the fallback of dead workers */
    bool use_cpu;           /* the native CPU was chosen, or no device is left */
    atomic_ullong cpu_docs; /* documents that the native CPU signed */
    bool fallback;
    bm_device_worker *device_workers;
    size_t n_device_workers;
    bm_scheme_params params; /* parameters of the words in use, for checks */
    uint32_t bands, rows, perms_used;
    uint32_t row_uints; /* 32-bit words of a document's signature */
    char names[512];    /* names of the devices, for users */
} bm_device_set;

typedef struct bm_device_set_cfg {
    const bm_device_pick *pick;
    bm_sketch_options sketch;
    uint32_t perms_used; /* 0: all */
    uint32_t bands, rows;
    const bm_text_options *text; /* devices may get texts that they cut in this way; NULL: hashes
                                    only */
    const bm_text_options *cut;  /* how the host cuts texts; NULL: as `text`, or the job is given
                                    hashes */
    uint64_t input_bytes;        /* bytes of all inputs, approximately; 0: unknown */
    uint32_t threads;            /* threads that make hashes on the host */
    const char *cpu, *cache_dir;
    size_t kept_bytes; /* memory for weighted elements, for each thread; 0: the default
                          (model/backend.h) */
    const bm_device_settings *settings; /* NULL: the defaults */
    bm_meter *meter;
} bm_device_set_cfg;

/* Open the devices. Those chosen by `auto` alone are compared with native code on all threads
 * (text_offload.h) and left out if they do not pay off. They are not even opened if the job would
 * end before they were ready. */
bm_status bm_device_set_open(const bm_device_set_cfg *cfg, bm_device_set *out, bm_error *err);
void bm_device_set_close(bm_device_set *set);
/* The number of hashes that a batch should have, approximately. */
size_t bm_device_set_batch_hashes(const bm_device_set *set);
/* Does the task have a document longer than the doc_hashes of some worker's backend, which the CPU
 * signs sooner? */
bool bm_device_set_is_for_cpu(const bm_device_set *set, const bm_sign_task *task);
bm_status bm_device_set_sign_cpu(bm_device_set *set, bm_sign_task *task, bm_error *err);
/* Compare a sample of a finished task with the native CPU. BM_ERR_DEVICE: at the first difference.
 * Any thread may call it, under the worker's lock or another one that serializes the calls. */
bm_status bm_device_set_check(bm_device_set *set, bm_device_worker *worker,
                              const bm_sign_task *task, bm_error *err);
/* A call of the worker failed with `status`, or the check did: mark it as dead, unless it is
 * already. Returns worker->after_death. The lock must not be held. */
bm_status bm_device_set_worker_failed(bm_device_set *set, bm_device_worker *worker,
                                      bm_status status, const bm_error *error);
