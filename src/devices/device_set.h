/* SPDX-License-Identifier: Apache-2.0 */
/* device_set.h -- the devices of a job: the native CPU, and a device worker for each OpenCL device.
 *
 * The results of a device are checked by samples. One document in 1,024, and at least one in each
 * batch, is signed again by the native CPU. If the device received texts, the CPU signs the text of
 * the document. The cost of the check is limited: at most one hash in 128 is signed again. If the
 * sampled document is too long for this limit, the document of the batch that is cheapest to check
 * is checked instead. If even this document costs too much, the batch is not checked. Of a long
 * document, only four words are compared.
 *
 * If a device fails or gives a wrong answer, its worker is dead. If `auto` chose the device, the
 * CPU then signs the batches of the worker; else the job ends with BM_ERR_DEVICE. Results never
 * depend on which device signed a document.
 *
 * Any number of threads may call bm_device_set_sign_cpu. A worker is used by one thread. */
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
 * The value is a list of words, separated by commas: auto (all GPUs, or, if there are none, the
 * CPU), cpu, gpu (all GPUs), opencl (the first OpenCL device), opencl:P.D, all (all GPUs and the
 * native CPU), or a part of a device's name. A GPU with two rows in the list of devices is selected
 * only once. "cpu" alone does not load OpenCL. */

typedef struct bm_device_pick {
    bm_device_info *devices; /* each once, in the order of bm_device_list */
    size_t n;
    bool fallback; /* `auto`: if a device fails, the CPU replaces it, with a warning */
    bool asked;    /* the user named devices, so the choice is logged more prominently */
    bool measured; /* `auto`, alone or with `cpu`: OpenCL devices are used only if they pay off */
    bool broken;   /* an OpenCL driver is broken, so its devices are missing; `why` is a warning */
    char why[700]; /* a line for users about the choice of `auto`; "": nothing to report */
} bm_device_pick;

/* Are the words just "auto"? Then the library chooses. */
bool bm_device_is_auto(const char *words);
/* Find the devices that options->device selects (NULL: cpu). BM_ERR_DEVICE: no device matches a
 * word; the message names the word. BM_ERR_USAGE: options->cpu is wrong. `callbacks`: called while
 * drivers are awaited (cl_listing.h); may be NULL. */
bm_status bm_device_pick_open(const bm_device_options *options, const bm_callbacks *callbacks,
                              bm_device_pick *out, bm_error *err);
/* List all devices, the native CPU first. If there is no OpenCL device, out->why is the reason,
 * else "". */
bm_status bm_device_pick_list(const bm_device_options *options, const bm_callbacks *callbacks,
                              bm_device_pick *out, bm_error *err);
void bm_device_pick_reset(bm_device_pick *pick);

/* device_open -- opens a listed device as a backend. Only this function chooses between the native
 * and the OpenCL backend. */

/* Open `device`, which is the native CPU or an OpenCL device. cfg->device is ignored. Close the
 * backend with bm_backend_close. */
bm_status bm_device_open(const bm_device_info *device, const bm_backend_cfg *cfg, bm_backend **out,
                         bm_error *err);

typedef struct bm_device_worker {
    bm_backend *backend;
    bm_device_info info;
    atomic_bool dead;
    bm_status after_death; /* status of the batches of a dead worker; BM_OK: the CPU signs them */
    bm_error death;
    pthread_mutex_t lock;  /* protects the members below; also held while `dead` is set */
    uint64_t n_docs;       /* number of documents that the device has signed */
    bm_shingler *shingler; /* if devices receive texts: hashes them, for the check, or if the CPU
                            * signs them instead */
    bm_shingle_batch checked;
    uint64_t credit; /* number of hashes that may still be signed again to check the device */
} bm_device_worker;

typedef struct bm_device_set {
    bm_text_offload path; /* path.taken: workers receive texts */
    bm_meter *meter;
    bm_backend *cpu;        /* always open, even if it is only the fallback of dead workers */
    bool use_cpu;           /* the native CPU was chosen, or no device is left */
    atomic_ullong cpu_docs; /* number of documents that the native CPU has signed */
    bool fallback;
    bm_device_worker *device_workers;
    size_t n_device_workers;
    bm_scheme_params params; /* parameters of the computed words, for checks */
    uint32_t bands, rows, perms_used;
    uint32_t row_uints; /* 32-bit words of a document's signature */
    char names[512];    /* names of the devices, for users */
} bm_device_set;

typedef struct bm_device_set_cfg {
    const bm_device_pick *pick;
    bm_sketch_options sketch;
    uint32_t perms_used; /* 0: all */
    uint32_t bands, rows;
    const bm_text_options *text; /* options for devices that receive texts; NULL: they receive only
                                    hashes */
    const bm_text_options *cut;  /* options for the host; NULL: the same as `text`, or, if that is
                                    NULL, the job has given hashes */
    uint64_t input_bytes;        /* approximate bytes of all inputs; 0: unknown */
    uint32_t threads;            /* threads that make hashes on the host */
    const char *cpu, *cache_dir;
    size_t kept_bytes; /* most bytes per thread of draws for weighted elements; 0: the default */
    const bm_device_settings *settings; /* NULL: the defaults */
    bm_meter *meter;
} bm_device_set_cfg;

/* Open the devices. With pick->measured, OpenCL devices are compared with native code on all
 * threads (text_offload.h), and left out if they do not pay off. They are not even opened if the
 * job would end before they were ready. */
bm_status bm_device_set_open(const bm_device_set_cfg *cfg, bm_device_set *out, bm_error *err);
void bm_device_set_close(bm_device_set *set);
/* The approximate number of hashes that a batch should have. */
size_t bm_device_set_batch_hashes(const bm_device_set *set);
/* Does the task have a document with more hashes than doc_hashes of some worker's backend? The CPU
 * finishes such a task sooner. */
bool bm_device_set_is_for_cpu(const bm_device_set *set, const bm_sign_task *task);
bm_status bm_device_set_sign_cpu(bm_device_set *set, bm_sign_task *task, bm_error *err);
/* Sign a sample of a finished task again with the native CPU, and compare the results. Ends at the
 * first difference, with BM_ERR_DEVICE. Any thread may call this. The caller must hold the worker's
 * lock, or another lock that serializes the calls for this worker. */
bm_status bm_device_set_check(bm_device_set *set, bm_device_worker *worker,
                              const bm_sign_task *task, bm_error *err);
/* Call this after a call of the worker's backend, or a check, has failed with `status`. Marks the
 * worker as dead, if it is not dead yet. Returns worker->after_death. The caller must not hold
 * worker->lock. */
bm_status bm_device_set_worker_failed(bm_device_set *set, bm_device_worker *worker,
                                      bm_status status, const bm_error *error);
