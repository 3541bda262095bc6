/* backend.h -- what signs: one table of functions for the native CPU (cpu/cpu_backend.h) and for
 * OpenCL devices (opencl/opencl_backend.h).
 *
 * submit hands a task over; it and all it points to stay borrowed until wait(task) returned BM_OK,
 * or drain did. Tasks of a backend end in the order of their submission. A backend that is
 * `parallel` computes inside submit and may be called by any number of threads at once (the native
 * CPU); any other is used by one thread, with at most `depth` tasks in flight. After an error other
 * than BM_ERR_NOMEM the backend is only good for drain and close, and no output may be trusted.
 *
 * A backend that is `stuck` after an error (ask once drain was called) has a device that did not
 * answer in time and may come back at any moment: what the tasks under way point to must never be
 * freed, nor written. The tasks themselves may be. */
#ifndef BM_BACKEND_BACKEND_H
#define BM_BACKEND_BACKEND_H

#include <bandmill/device.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/device_settings.h"
#include "model/sign_task.h"

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
} bm_backend_ops;

/* What every backend begins with; its own state follows. */
struct bm_backend {
    const bm_backend_ops *ops;
    bool parallel;
    bool stuck;          /* the device stopped answering; see above */
    bool takes_text;     /* tasks may hold texts, cut as bm_backend_cfg.text said */
    uint32_t depth;      /* tasks in flight that keep it busy; 1 where parallel */
    size_t batch_hashes; /* hashes a task should hold about, for speed */
    double
        kernel_seconds; /* of signing, by the device's clock, in what was waited for; with settings.profile */
    bm_device_info info;
};

static inline void bm_backend_close(bm_backend *backend) /* NULL is fine */
{
    if (backend != NULL)
        backend->ops->close(backend);
}

#endif
