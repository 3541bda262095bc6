/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h -- the interface of signing backends: a table of functions for the native CPU
 * (cpu/cpu_backend.h) and for OpenCL devices (opencl/cl_backend.h).
 *
 * submit passes a task to the backend. The backend borrows the task, and everything that the task
 * points to, until wait(task) or drain has returned BM_OK. The tasks of a backend end in the order
 * in which they were submitted. A `parallel` backend (the native CPU) computes inside submit, and
 * any number of threads may call it at once. Any other backend is used by one thread, with at most
 * `depth` tasks in flight. After an error other than BM_ERR_NOMEM only drain and close may be
 * called, and no output may be trusted.
 *
 * After an error, call drain and check `stuck`. If it is set, the device did not answer in time and
 * may resume at any moment. So memory that the tasks in flight point to must never be freed or
 * written. The tasks themselves may be freed.
 *
 * `stage` copies the inputs of a task to a staging slot of the backend, and the task is submitted
 * with that slot (bm_sign_task.staged). So the thread that submits tasks copies neither inputs nor
 * results. Any thread may call stage and unstage until the backend is closed. */
#pragma once

#include <bandmill/device.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/batches.h"
#include "model/stream_hash.h"

/* device_settings -- how devices are used: limits of time and memory, the trial run, parameters of
 * the kernels. Other code chooses which devices are used. The code that opens the devices passes
 * these settings. They never change a result. */

/* {0}: all defaults. Strings are borrowed while devices are being opened, and `n_stuck` while any
 * device is open. */
typedef struct bm_device_settings {
    /* The program that is first run to try a device (cl_probe.h). "": devices are not tried. NULL:
     * this program, if its file is named `bandmill`. */
    const char *probe_program;
    /* limits of the trial run and of listing devices; 0: 120 and 60 seconds */
    double probe_seconds;
    /* limit of a call on a device; 0: the limit depends on the work of the call (cl_watchdog.c) */
    double call_seconds;
    uint64_t buffer_limit_bytes; /* limit of a buffer on a device; 0: the device's own limit */
    /* a file of kernel parameters, which take precedence over the built-in ones; NULL or "": no
     * such file */
    const char *tuning_path;
    const char *kernel_family; /* "cpu" or "gpu"; NULL: it follows from the kernel parameters */
    /* a row of kernel parameters for every device; NULL: the row is found by the names of the
     * device */
    const char *kernel_params;
    bm_offload text_offload;
    bool profile; /* measure the time in kernels: bm_backend.kernel_seconds */
    /* Incremented (atomically) for each device that has stopped answering and so blocks a thread
     * for ever. If there is such a device, the process should end by _exit. NULL: devices are not
     * counted. */
    uint32_t *n_stuck;
} bm_device_settings;

/* Get the settings that the public options have. */
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
 * that sign 32-bit hashes use only the low half of a hash (the token hash x, before it is
 * premixed). All other schemes use all 64 bits (bm_scheme_whole_hashes). Schemes of weighted
 * documents also use `weights`, which are finite and greater than 0.
 *
 * A task with `text` has no hashes. The backend cuts and hashes the documents itself, and counts
 * the distinct hashes of each document; offsets are text->slots. Only a backend that was opened for
 * texts accepts such tasks (bm_backend.accepts_text). It may still return BM_ERR_UNSUPPORTED
 * without doing anything. Then submit the task again with hashes. The results of documents that are
 * left to the host are those of empty documents. Everything that a task points to is borrowed until
 * the task is done. */

/* A staging slot. The caller of `stage` owns it until the caller calls unstage. When the task is
 * done, its words and keys are here; NULL: they are in the task's own arrays. */
typedef struct bm_staged {
    struct bm_backend *backend;
    uint32_t *words;
    uint64_t *keys;
} bm_staged;

typedef struct bm_sign_task {
    const uint64_t *offsets; /* n_docs + 1 */
    const uint64_t *hashes;
    const double *weights;     /* one for each hash; NULL: the scheme uses no weights */
    const bm_text_batch *text; /* the texts; NULL: the task has hashes */
    size_t n_docs;
    /* output: the rows of the documents (bm_scheme_row_uints); NULL: rows are not wanted */
    uint32_t *words;
    /* output: n_docs * bands keys, document after document; NULL: keys are not wanted */
    uint64_t *keys;
    uint32_t *n_shingles; /* output, for texts: n_docs numbers of distinct hashes */
    bm_hash128 *content;  /* output, for texts: n_docs content hashes; NULL: not wanted */
    bm_staged *staged;    /* a staging slot of the same backend; NULL: the task is not staged */
} bm_sign_task;

typedef struct bm_backend_cfg {
    bm_sketch_options sketch;
    /* How many words of a signature are computed; 0: all. task.words has this many words per
     * document. Coefficients are drawn for all sketch.perms. */
    uint32_t perms_used;
    uint32_t bands, rows; /* bands and rows of the band keys; both 0: no task wants keys */
    /* how documents of tasks with texts are cut; NULL: all tasks have hashes */
    const bm_text_options *text;
    const char *device;    /* "cpu" or "opencl:P.D" */
    const char *cpu;       /* instruction set of the native backend; NULL: the best one */
    const char *cache_dir; /* cache directory of OpenCL programs; NULL: the user's; "": no cache */
    const bm_device_settings *settings; /* NULL: all defaults */
    /* memory in which each thread of the native CPU keeps the draws of weighted elements; 0: the
     * default */
    size_t kept_bytes;
    /* `log` is used, and `cancelled` during a trial run; NULL: no callbacks */
    const bm_callbacks *callbacks;
} bm_backend_cfg;

typedef struct bm_backend bm_backend;

typedef struct bm_backend_ops {
    const char *name; /* "cpu", "opencl" */
    bm_status (*open)(const bm_backend_cfg *cfg, bm_backend **out, bm_error *err);
    bm_status (*submit)(bm_backend *backend, bm_sign_task *task, bm_error *err);
    bm_status (*wait)(bm_backend *backend, bm_sign_task *task, bm_error *err);
    bm_status (*drain)(bm_backend *backend, bm_error *err);
    void (*close)(bm_backend *backend); /* drains first; NULL is fine */
    /* `stage` returns NULL if no slot is free, or no slot is large enough. If the backend has no
     * slots, both pointers are NULL. To free a slot, call `unstage` of staged->backend, which may
     * be a backend inside of this one. */
    bm_staged *(*stage)(bm_backend *backend, const bm_sign_task *task);
    void (*unstage)(bm_staged *staged);
} bm_backend_ops;

/* The first member of the struct of every backend. The members that only one kind of backend has
 * follow it. */
struct bm_backend {
    const bm_backend_ops *ops;
    bool parallel;
    bool stuck;          /* the device has stopped answering; see above */
    bool accepts_text;   /* tasks may have texts; bm_backend_cfg.text states how these are cut */
    uint32_t depth;      /* tasks in flight that keep the backend busy; 1 for a `parallel` one */
    size_t batch_hashes; /* about how many hashes a task should have for the best speed */
    /* a document with more hashes is signed faster by the native CPU; 0: no limit */
    size_t doc_hashes;
    /* time of signing all finished tasks, by the device's clock; only with settings.profile */
    double kernel_seconds;
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
