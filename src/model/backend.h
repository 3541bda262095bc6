/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h -- what signs: one table of functions for the native CPU (cpu/cpu_backend.h) and for
 * OpenCL devices (opencl/cl_backend.h).
 *
 * submit hands a task over; it and all it points to stay borrowed until wait(task) returned BM_OK,
 * or drain did. Tasks of a backend end in the order of their submission. A backend that is
 * `parallel` computes inside submit and may be called by any number of threads at once (the native
 * CPU); any other is used by one thread, with at most `depth` tasks in flight. After an error other
 * than BM_ERR_NOMEM the backend is only good for drain and close, and no output may be trusted.
 *
 * A backend that is `stuck` after an error (ask once drain was called) has a device that did not
 * answer in time and may come back at any moment: what the tasks under way point to must never be
 * freed, nor written. The tasks themselves may be.
 *
 * `stage` fills a place of the backend with the inputs of a task, which is submitted with it
 * (bm_sign_task.staged): so the thread that uses the backend copies neither inputs nor results. Any
 * thread may call it, and unstage, until the backend is closed. */
#pragma once

#include <bandmill/device.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/batches.h"
#include "model/stream_hash.h"

/* device_settings -- how devices are used, beyond which of them: limits of time and memory, the
 * trial run, parameters of the kernels. Handed in by who opens them; the library reads no
 * environment. Nothing here changes a result. */

/* {0}: all as usual. Strings are borrowed for as long as devices are being opened; `n_stuck` for as
 * long as any is open. */
typedef struct bm_device_settings {
    /* That tries a device first (cl_probe.h); "": none; NULL: this program, if its file is named
     * `bandmill`. */
    const char *probe_program;
    double probe_seconds;        /* limit of the trial run; 0: 120; and of listing devices; 0: 60 */
    double call_seconds;         /* limit of a call on a device; 0: by its work (cl_watchdog.c) */
    uint64_t buffer_limit_bytes; /* of a buffer on a device; 0: what the device allows */
    const char *tuning_path;     /* a file of kernel parameters before ours; NULL or "": none */
    const char *kernel_family;   /* "cpu" or "gpu"; NULL: by those parameters */
    const char *kernel_params;   /* a row of them for every device; NULL: by its names */
    bm_offload text_offload;
    bool profile; /* measure the time in kernels: bm_backend.kernel_seconds */
    /* One more (atomically) for each device that stopped answering and holds a thread for ever: the
     * process should then end by _exit. NULL: nobody asks. */
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
 * Document i has hashes[offsets[i]] … hashes[offsets[i+1]-1]; offsets[0] need not be 0. Of the 64
 * bits of a hash only the low 32 are used (the token hash x, not yet premixed), but for schemes of
 * weighted documents, which use all, and `weights`: finite, more than 0.
 *
 * With `text` there are no hashes: the backend cuts and hashes the documents itself, offsets are
 * text->slots, and it counts the distinct hashes of each document. Only a backend that was opened
 * for such texts takes them (bm_backend.accepts_text). It may still answer BM_ERR_UNSUPPORTED,
 * having done nothing; then the task is to be given as hashes. Documents that are left to the host
 * come back as if they were empty. Everything is borrowed until the task is done. */

/* A place that a task was staged in: the taker's until it is unstaged. Once the task is done its
 * words and keys are here; NULL: they are where the task wants them. */
typedef struct bm_staged {
    struct bm_backend *backend;
    uint32_t *words;
    uint64_t *keys;
} bm_staged;

typedef struct bm_sign_task {
    const uint64_t *offsets; /* n_docs + 1 */
    const uint64_t *hashes;
    const double *weights;     /* of the hashes, beside them; NULL: the scheme wants none */
    const bm_text_batch *text; /* NULL: hashes */
    size_t n_docs;
    uint32_t *words;      /* filled: n_docs * perms, document after document; NULL: not wanted */
    uint64_t *keys;       /* filled: n_docs * bands, document after document; NULL: not wanted */
    uint32_t *n_shingles; /* filled where there is text: n_docs, distinct hashes */
    bm_hash128 *content;  /* filled where there is text: n_docs content hashes; NULL: not wanted */
    bm_staged *staged;    /* where it was staged, in the same backend; NULL: nowhere */
} bm_sign_task;

typedef struct bm_backend_cfg {
    bm_sketch_options sketch;
    uint32_t perms_used; /* draw coefficients for sketch.perms, compute only the first so many words
                            of a signature (task.words then has this many a document); 0: all */
    uint32_t bands, rows;        /* of the keys; 0, 0: no task wants keys */
    const bm_text_options *text; /* tasks may hold texts to be cut like this; NULL: hashes only */
    const char *device;          /* "cpu" or "opencl:P.D" */
    const char *cpu;             /* instruction set of the native backend; NULL: the best */
    const char *cache_dir;       /* of OpenCL programs; NULL: the user's; "": none */
    const bm_device_settings *settings; /* NULL: all as usual */
    size_t kept_bytes; /* of weighted elements, for each thread of the native CPU; 0: as usual */
    const bm_callbacks *callbacks; /* for log lines; NULL: none */
} bm_backend_cfg;

typedef struct bm_backend bm_backend;

typedef struct bm_backend_ops {
    const char *name; /* "cpu", "opencl" */
    bm_status (*open)(const bm_backend_cfg *cfg, bm_backend **out, bm_error *err);
    bm_status (*submit)(bm_backend *backend, bm_sign_task *task, bm_error *err);
    bm_status (*wait)(bm_backend *backend, bm_sign_task *task, bm_error *err);
    bm_status (*drain)(bm_backend *backend, bm_error *err);
    void (*close)(bm_backend *backend); /* drains first; NULL is fine */
    /* NULL: no place is free, or large enough. Both are NULL where a backend has no places. */
    bm_staged *(*stage)(bm_backend *backend, const bm_sign_task *task);
    void (*unstage)(bm_staged *staged);
} bm_backend_ops;

/* Every backend begins with this; its own state follows. */
struct bm_backend {
    const bm_backend_ops *ops;
    bool parallel;
    bool stuck;          /* the device stopped answering; see above */
    bool accepts_text;   /* tasks may hold texts, cut as bm_backend_cfg.text said */
    uint32_t depth;      /* tasks in flight that keep it busy; 1 where parallel */
    size_t batch_hashes; /* hashes a task should hold about, for speed */
    size_t doc_hashes; /* more of one document take many turns, which native code outruns; 0: any */
    double kernel_seconds; /* of signing, by the device's clock, for tasks that were waited for;
                            * with settings.profile */
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
