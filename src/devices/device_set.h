/* SPDX-License-Identifier: Apache-2.0 */
/* device_set.h -- the devices of a job: the native CPU, and a worker for each OpenCL device.
 *
 * Batches that come back from a worker are checked by a sample: one document in 1,024 (at least one
 * a batch) is signed again by the native CPU, from its text where the device got that. No more than
 * one hash in 128 is signed again: where a document is too long for that, the shortest of the batch
 * takes its place, or the check waits for later batches; of a long one four words are compared. A
 * worker that fails or answers wrong is dead: its batches are signed on the CPU when
 * the device was chosen by `auto`, else the job ends with BM_ERR_DEVICE. Results never depend on
 * who signed what.
 *
 * Threads: any number of them may call bm_device_set_sign_cpu; a worker belongs to one. */
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

/* device_pick -- what `--device` means on this machine: a list of devices to open.
 *
 * auto (GPUs if there are, else the CPU), cpu, gpu (every GPU), opencl (the first device),
 * opencl:P.D, all (every GPU and the native CPU), or a part of a device's name; several with
 * commas. A GPU that has two rows is meant once. "cpu" alone loads no OpenCL. */

typedef struct bm_device_pick {
    bm_device_info *devices; /* in the order of bm_device_list, each once */
    size_t n;
    bool fallback; /* `auto`: a device that fails ends on the CPU with a warning */
    bool asked;    /* words were given: what they came to is worth a line of its own */
    bool measured; /* `auto` alone, or with the CPU: OpenCL devices are used only if they pay */
    bool broken;   /* an OpenCL driver is: none of its devices is there, and `why` is a warning */
    char why[700]; /* one line for people on what `auto` chose; empty: nothing to say */
} bm_device_pick;

/* Is the choice left to the library by the one word "auto"? */
bool bm_device_is_auto(const char *words);
/* Find the devices that options->device names (NULL: cpu). BM_ERR_DEVICE: none matches a
 * word, which the message names. `callbacks` (may be NULL): drivers may be waited for, see
 * cl_listing.h. */
bm_status bm_device_pick_open(const bm_device_options *options, const bm_callbacks *callbacks,
                              bm_device_pick *out, bm_error *err);
/* All devices, the native CPU first. `why`: why there is no OpenCL device, or "". */
bm_status bm_device_pick_list(const bm_device_options *options, const bm_callbacks *callbacks,
                              bm_device_pick *out, bm_error *err);
void bm_device_pick_reset(bm_device_pick *pick);

/* device_open -- one device of the listing, opened as a backend: the only place that chooses
 * between the rows of the table of backends. */

/* The native CPU or the OpenCL device that `device` is; cfg->device is not read. Closed with
 * bm_backend_close. */
bm_status bm_device_open(const bm_device_info *device, const bm_backend_cfg *cfg, bm_backend **out,
                         bm_error *err);

typedef struct bm_device_worker {
    bm_backend *backend;
    bm_device_info info;
    atomic_bool dead;
    bm_status after_death; /* of a dead worker: BM_OK, the CPU signs; else why its batches fail */
    bm_error death;
    pthread_mutex_t lock;  /* of all below, and of dying */
    uint64_t n_docs;       /* that it signed */
    bm_shingler *shingler; /* where texts go to devices: to check them, or do without them */
    bm_shingle_batch checked;
    uint64_t credit; /* hashes that may be signed again to check the device */
} bm_device_worker;

typedef struct bm_device_set {
    bm_text_offload path; /* what the workers get */
    bm_meter *meter;
    bm_backend *cpu;        /* always open: chosen, or what a dead worker falls back on */
    bool use_cpu;           /* the native CPU was chosen */
    atomic_ullong cpu_docs; /* that it signed */
    bool fallback;
    bm_device_worker *device_workers;
    size_t n_device_workers;
    bm_scheme_params params; /* of the words in use, for checks */
    uint32_t bands, rows, perms_used;
    uint32_t row_uints; /* of the words of a document */
    char names[512];    /* of the devices, for people */
} bm_device_set;

typedef struct bm_device_set_cfg {
    const bm_device_pick *pick;
    bm_sketch_options sketch;
    uint32_t perms_used; /* 0: all */
    uint32_t bands, rows;
    const bm_text_options *text; /* devices may be given texts to be cut so; NULL: hashes only */
    const bm_text_options *cut;  /* how the host cuts texts; NULL: as `text`, or hashes are given */
    uint64_t input_bytes;        /* of all inputs, about; 0: not known */
    uint32_t threads;            /* that make hashes on the host */
    const char *cpu, *cache_dir;
    size_t kept_bytes; /* of weighted elements, for each thread; 0: as usual (backend/backend.h) */
    const bm_device_settings *settings; /* NULL: all as usual */
    bm_meter *meter;
} bm_device_set_cfg;

/* Devices that `auto` alone has chosen are compared with native code on all threads (text_offload.h)
 * and left out where they do not pay, or not even opened where the job is over before. */
bm_status bm_device_set_open(const bm_device_set_cfg *cfg, bm_device_set *out, bm_error *err);
void bm_device_set_close(bm_device_set *set);
/* The number of hashes that a batch should hold, about. */
size_t bm_device_set_batch_hashes(const bm_device_set *set);
/* Has the task a document that the CPU signs sooner than any device (bm_backend.doc_hashes)? */
bool bm_device_set_is_for_cpu(const bm_device_set *set, const bm_sign_task *task);
bm_status bm_device_set_sign_cpu(bm_device_set *set, bm_sign_task *task, bm_error *err);
/* Compare a sample of a finished task with the native CPU: BM_ERR_DEVICE on the first difference.
 * By any thread, with the worker's lock, or another by which no two do it at once. */
bm_status bm_device_set_check(bm_device_set *set, bm_device_worker *worker,
                              const bm_sign_task *task, bm_error *err);
/* A worker's call failed with `status`, or the check did: it is dead now, of its first failure.
 * Returns worker->after_death. The lock is not held. */
bm_status bm_device_set_worker_failed(bm_device_set *set, bm_device_worker *worker,
                                      bm_status status, const bm_error *error);
