/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h -- the interface of signing backends: a table of functions for the native CPU
 * (cpu/cpu_backend.h) and for OpenCL devices (opencl/cl_backend.h).
 *
 * submit passes a task to the backend. The backend borrows the task, and everything that the task
 * points to, until wait(task) or drain has returned BM_OK. Tasks of a backend end in the order of
 * their submission. A `parallel` backend (the native CPU) computes inside submit and may be called
 * by any number of threads at once; any other is used by one thread, with at most `depth` tasks in
 * flight. After an error other than BM_ERR_NOMEM only drain and close may be called, and no output
 * may be trusted.
 *
 * A backend that is `stuck` after an error (check after calling drain) has a device that did not
 * answer in time and may resume at any moment: memory that the tasks in flight point to must never
 * be freed or written. The tasks themselves may be.
 *
 * `stage` copies the inputs of a task to a staging slot of the backend, and the task is submitted
 * with that slot (bm_sign_task.staged). So the thread that uses the backend copies neither inputs
 * nor results. Any thread may call stage and unstage until the backend is closed. */
#pragma once

#include <bandmill/device.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/batches.h"
#include "model/stream_hash.h"

/* device_settings -- how devices are used: limits of time and memory, the trial run, parameters of
 * the kernels. Which devices are used is chosen elsewhere. The code that opens the devices passes
 * the settings. Nothing here changes a result. */

/* {0}: all defaults. Strings are borrowed while devices are being opened, `n_stuck` while any
 * device is open. */
typedef struct bm_device_settings {
    /* The program that tries a device first (cl_probe.h); "": none; NULL: this program, if its file
     * is named `bandmill`. */
    const char *probe_program;
    double probe_seconds;        /* limits of the trial run and of listing devices; 0: 120 and 60 */
    double call_seconds;         /* limit of a call on a device; 0: depends on its work
                                  * (cl_watchdog.c) */
    uint64_t buffer_limit_bytes; /* limit of a buffer on a device; 0: the device's own limit */
    const char *tuning_path;     /* a file of kernel parameters that precede the built-in ones; NULL
                                  * or "": none */
    const char *kernel_family;   /* "cpu" or "gpu"; NULL: from the kernel parameters */
    const char *kernel_params;   /* a row of parameters for every device; NULL: found by the
                                  * device's names */
    bm_offload text_offload;
    bool profile; /* measure the time in kernels: bm_backend.kernel_seconds */
    /* Incremented (atomically) for each device that has stopped answering and blocks a thread for
     * ever; then the process should end by _exit. NULL: not counted. */
    uint32_t *n_stuck;
} bm_device_settings;

/* The settings in the public options. */
static inline bm_device_settings bm_device_settings_of(const bm_device_options *options)
{
    return (bm_device_settings){.probe_program = options->probe_program,
                                .probe_seconds = options->probe_seconds,
                                .call_seconds = options->call_seconds,
                                .buffer_limit_bytes = options->buffer_limit_bytes,
                                .tuning_path = options->tuning_path,
                                .kernel_family = options->kernel_family,
                                .kernel_params = options->kernel_params,
                                .text_offload = options->text_offload,
                                .n_stuck = options->n_stuck};
}

/* sign_task -- one batch of hashes, or of texts, on its way through a backend.
 *
 * Document i has hashes[offsets[i]] … hashes[offsets[i+1]-1]; offsets[0] need not be 0. Schemes
 * that sign 32-bit hashes use only the low half of a hash (the token hash x, not yet premixed); the
 * others use all 64 bits (bm_scheme_whole_hashes). Schemes of weighted documents also use
 * `weights`, which are finite and greater than 0.
 *
 * With `text` there are no hashes: the backend cuts and hashes the documents itself, offsets are
 * text->slots, and it counts the distinct hashes of each document. Only a backend that was opened
 * for such texts accepts them (bm_backend.accepts_text). It may still return BM_ERR_UNSUPPORTED
 * without doing anything; then submit the task again as hashes. Documents that are left to the host
 * come back as if they were empty. Everything is borrowed until the task is done. */

/* A staging slot, owned by the caller of `stage` until it calls unstage. When the task is done, its
 * words and keys are here; NULL: they are in the task's own arrays. */
typedef struct bm_staged {
    struct bm_backend *backend;
    uint32_t *words;
    uint64_t *keys;
} bm_staged;

typedef struct bm_sign_task {
    const uint64_t *offsets; /* n_docs + 1 */
    const uint64_t *hashes;
    const double *weights;     /* one for each hash; NULL: the scheme uses none */
    const bm_text_batch *text; /* the texts; NULL: the task has hashes */
    size_t n_docs;
    uint32_t *words;      /* filled: the rows of the documents (bm_scheme_row_uints); NULL: not
                           * wanted */
    uint64_t *keys;       /* filled: n_docs * bands, document after document; NULL: not wanted */
    uint32_t *n_shingles; /* for texts, filled: numbers of distinct hashes, n_docs */
    bm_hash128 *content;  /* for texts, filled: content hashes, n_docs; NULL: not wanted */
    bm_staged *staged;    /* a staging slot of the same backend; NULL: the task is not staged */
} bm_sign_task;

typedef struct bm_backend_cfg {
    bm_sketch_options sketch;
    uint32_t perms_used;  /* coefficients are drawn for sketch.perms, but only the first perms_used
                          * words of a signature are computed (task.words has that many for each
                          * document); 0: all */
    uint32_t bands, rows; /* plan of the band keys; both 0: no task wants keys */
    const bm_text_options *text; /* how tasks with texts are cut; NULL: tasks have hashes only */
    const char *device;          /* "cpu" or "opencl:P.D" */
    const char *cpu;             /* instruction set of the native backend; NULL: the best */
    const char *cache_dir;       /* for OpenCL programs; NULL: the user's; "": none */
    const bm_device_settings *settings; /* NULL: all defaults */
    size_t kept_bytes; /* memory for the draws of weighted elements, for each thread of the native
                        * CPU; 0: the default */
    const bm_callbacks *callbacks; /* `log`; `cancelled` during a trial run; NULL: none */
} bm_backend_cfg;

typedef struct bm_backend bm_backend;

typedef struct bm_backend_ops {
    const char *name; /* "cpu", "opencl" */
    bm_status (*open)(const bm_backend_cfg *cfg, bm_backend **out, bm_error *err);
    bm_status (*submit)(bm_backend *backend, bm_sign_task *task, bm_error *err);
    bm_status (*wait)(bm_backend *backend, bm_sign_task *task, bm_error *err);
    bm_status (*drain)(bm_backend *backend, bm_error *err);
    void (*close)(bm_backend *backend); /* drains first; NULL is fine */
    /* `stage` returns NULL if no slot is free, or none is large enough. If the backend has no
     * slots, both pointers are NULL. The `unstage` of staged->backend, which may be a backend
     * inside of this one, frees the slot. */
    bm_staged *(*stage)(bm_backend *backend, const bm_sign_task *task);
    void (*unstage)(bm_staged *staged);
} bm_backend_ops;

/* Every backend begins with this; its own state follows. */
struct bm_backend {
    const bm_backend_ops *ops;
    bool parallel;
    bool stuck;          /* the device stopped answering; see above */
    bool accepts_text;   /* tasks may have texts, cut as set in bm_backend_cfg.text */
    uint32_t depth;      /* how many tasks in flight keep it busy; 1 if parallel */
    size_t batch_hashes; /* about how many hashes a task should have, for speed */
    size_t doc_hashes;   /* a document with more is signed faster by the native CPU; 0: no limit */
    double kernel_seconds; /* time of signing by the device's clock, for finished tasks; only with
                            * settings.profile */
    bm_device_info info;
};

static inline bm_staged *bm_backend_stage(bm_backend *backend, const bm_sign_task *task)
{
    return backend->ops->stage != NULL ? backend->ops->stage(backend, task) : NULL;
}

static inline void bm_backend_close(bm_backend *backend) /* NULL is fine */
{
    if (backend != NULL)
        backend->ops->close(backend);
}
