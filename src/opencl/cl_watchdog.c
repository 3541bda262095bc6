/* SPDX-License-Identifier: Apache-2.0 */
/* cl_watchdog.c -- bm_backend_opencl: watches an OpenCL device, which may stop answering.
 *
 * A call into a driver cannot have a time limit, and cannot be ended from outside. So a separate
 * thread makes all calls for a device, and the caller waits for each answer up to a limit:
 *
 *     caller   post a call | wait until answered, or the limit
 *     thread   take the call | call cl_backend.c, and the driver | answer
 *
 * If a device has not answered within the limit, it is stuck. The caller gets BM_ERR_DEVICE, for
 * this call and all later ones, and goes on. The thread remains, and so does everything that the
 * thread or the device may still use: the watchdog, the backend inside, and all memory of the tasks
 * in progress. It is leaked on purpose. The caller must not free memory of these tasks either
 * (bm_backend.stuck). bm_device_settings.n_stuck counts the remaining threads. If there are any,
 * the process should end by _exit, because a driver's exit handlers may wait for them.
 *
 * The limit is bm_device_settings.call_seconds. If that is not set, the limit is 120 s, plus 1 us
 * for each hash in progress, plus 20 times the time that these hashes would take at the slowest
 * rate so far. Opening a device includes one or two trial runs, which have a limit of their own.
 * When a trial run ends, the limit of the call starts again.
 *
 * Used by one thread at a time, like bm_backend. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "opencl/cl_backend.h"
#include "opencl/cl_probe.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

#define DEFAULT_SECONDS 120.0
#define HASH_SECONDS    1e-6
#define PATIENCE        20.0
#define SMALL_TASK      100000.0 /* hashes; a smaller task does not show the rate well */
#define N_STRINGS       7

typedef enum what { NOTHING, OPEN, SUBMIT, WAIT, DRAIN, CLOSE } what;

/* A task in progress. It is a copy of the caller's task, so that it exists as long as the device
 * may use it. */
typedef struct under_way {
    bm_sign_task task;
    const bm_sign_task *from;
    double begin, n_hashes;
    struct under_way *next;
} under_way;

/* Copies of the configuration for opening the backend. The thread may use them for ever. */
typedef struct opening {
    bm_backend_cfg cfg;
    bm_text_options text;
    bm_device_settings settings;
    bm_callbacks callbacks;
    char *strings[N_STRINGS];
} opening;

typedef struct watchdog {
    bm_backend base;
    pthread_t thread;
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t posted, answered;
    what call; /* the call that waits for an answer; NOTHING: no call does */
    under_way *subject;
    bm_status status;
    bm_error error;
    bool stuck;
    struct timespec deadline; /* deadline of the call */
    bm_backend *inner;
    opening with;
    const bm_callbacks *outer; /* the caller's callbacks, valid until open returns */
    /* Used only by the caller. */
    under_way *tasks; /* oldest first */
    double slowest;   /* seconds per hash */
} watchdog;

/* --- time limits --- */

static double limit_of(const watchdog *w)
{
    double n_hashes = 0;
    for (const under_way *u = w->tasks; u != NULL; u = u->next)
        n_hashes += u->n_hashes;
    if (w->with.settings.call_seconds > 0)
        return w->with.settings.call_seconds;
    return DEFAULT_SECONDS + n_hashes * (HASH_SECONDS + PATIENCE * w->slowest);
}

static double trial_limit_of(const watchdog *w)
{
    const double seconds = w->with.settings.probe_seconds;
    return seconds > 0 ? seconds : BM_CL_PROBE_SECONDS;
}

static bool is_over(const struct timespec *deadline)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec != deadline->tv_sec ? now.tv_sec > deadline->tv_sec
                                          : now.tv_nsec >= deadline->tv_nsec;
}

/* Set a new deadline, when a trial run begins or ends. It is the limit of the call, counted from
 * now. If a trial run begins, its own limit is added. */
static void probing(void *ctx, bool begins)
{
    watchdog *w = ctx;
    pthread_mutex_lock(&w->lock);
    w->deadline = bm_clock_in(CLOCK_MONOTONIC, limit_of(w) + (begins ? trial_limit_of(w) : 0));
    pthread_cond_signal(&w->answered); /* the waiting caller reads the deadline again */
    pthread_mutex_unlock(&w->lock);
}

/* --- the thread --- */

static bm_status perform(watchdog *w, what call, under_way *subject, bm_error *err)
{
    const bm_backend_ops *ops = w->inner != NULL ? w->inner->ops : NULL;
    switch (call) {
    case OPEN:
        return bm_cl_backend_open(&w->with.cfg,
                                  &(bm_cl_open_options){.probing = probing, .probing_ctx = w},
                                  &w->inner, err);
    case SUBMIT:
        return ops->submit(w->inner, &subject->task, err);
    case WAIT:
        return ops->wait(w->inner, &subject->task, err);
    case DRAIN:
        return ops->drain(w->inner, err);
    case CLOSE:
        if (ops != NULL)
            ops->close(w->inner);
        return BM_OK;
    case NOTHING:
        break;
    }
    return BM_ERR_INTERNAL;
}

static void *serve(void *ctx)
{
    watchdog *w = ctx;
    stack_t before; /* LLVM, inside of some drivers, gives the thread a signal stack of its own */
    const bool known = sigaltstack(NULL, &before) == 0;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->call == NOTHING)
            pthread_cond_wait(&w->posted, &w->lock);
        const what call = w->call;
        under_way *subject = w->subject;
        bm_error error = {0};
        pthread_mutex_unlock(&w->lock);
        const bm_status status = perform(w, call, subject, &error);
        pthread_mutex_lock(&w->lock);
        w->status = status;
        w->error = error;
        w->call = NOTHING;
        if (w->stuck || call == CLOSE)
            break; /* too late, because the caller no longer waits */
        pthread_cond_signal(&w->answered);
    }
    if (known)
        sigaltstack(&before, NULL);
    pthread_cond_signal(&w->answered);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void forward_log(void *ctx, bm_log_level level, const char *message)
{
    watchdog *w = ctx;
    pthread_mutex_lock(&w->lock);
    if (!w->stuck && w->outer != NULL && w->outer->log != NULL)
        w->outer->log(w->outer->ctx, level, message);
    pthread_mutex_unlock(&w->lock);
}

/* Called by a trial run while it waits: does the caller want to stop? False once the device is
 * stuck, because the caller no longer waits. */
static bool forward_cancelled(void *ctx)
{
    watchdog *w = ctx;
    pthread_mutex_lock(&w->lock);
    const bool cancelled = !w->stuck && w->outer != NULL && w->outer->cancelled != NULL &&
                           w->outer->cancelled(w->outer->ctx);
    pthread_mutex_unlock(&w->lock);
    return cancelled;
}

/* --- the caller --- */

static bm_status stuck_error(double limit, bm_error *err)
{
    return bm_fail(err, BM_ERR_DEVICE, "the device did not answer within %.3g seconds", limit);
}

/* Make a call, and wait for its answer. BM_ERR_DEVICE: the device does not answer within the limit,
 * or is stuck already. */
static bm_status ask(watchdog *w, what call, under_way *subject, bm_error *err)
{
    const double limit = limit_of(w);
    const double trial = call == OPEN ? trial_limit_of(w) : 0;
    pthread_mutex_lock(&w->lock);
    w->deadline = bm_clock_in(CLOCK_MONOTONIC, limit + trial);
    if (!w->stuck) {
        w->call = call;
        w->subject = subject;
        pthread_cond_signal(&w->posted);
        while (w->call != NOTHING && !is_over(&w->deadline)) {
            const struct timespec until = w->deadline;
            pthread_cond_timedwait(&w->answered, &w->lock, &until);
        }
        if (w->call != NOTHING) {
            w->stuck = w->base.stuck = true;
            if (w->with.settings.n_stuck != NULL)
                __atomic_fetch_add(w->with.settings.n_stuck, 1, __ATOMIC_RELAXED);
            pthread_detach(w->thread);
        }
    }
    const bool stuck = w->stuck;
    const bm_status status = w->status;
    if (!stuck && status != BM_OK && err != NULL)
        *err = w->error;
    if (!stuck && w->inner != NULL && call != CLOSE)
        w->base.kernel_seconds = w->inner->kernel_seconds;
    pthread_mutex_unlock(&w->lock);
    return stuck ? stuck_error(limit, err) : status;
}

static void forget(watchdog *w, under_way *one)
{
    under_way **at = &w->tasks;
    while (*at != NULL && *at != one)
        at = &(*at)->next;
    if (*at != NULL)
        *at = one->next;
    bm_free(one);
}

static bm_status watchdog_submit(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    watchdog *w = (watchdog *)backend;
    under_way *one = bm_alloc_zero(1, sizeof *one), **end = &w->tasks;
    if (one == NULL)
        return bm_fail_nomem(err, sizeof *one);
    one->task = *task;
    one->from = task;
    one->begin = bm_clock_seconds();
    one->n_hashes = (double)(task->offsets[task->n_docs] - task->offsets[0]);
    while (*end != NULL)
        end = &(*end)->next;
    *end = one;
    bm_status status = ask(w, SUBMIT, one, err);
    if (status == BM_ERR_NOMEM && ask(w, DRAIN, NULL, NULL) != BM_OK)
        return status; /* the work of the task stays in progress */
    if (status == BM_ERR_NOMEM || status == BM_ERR_UNSUPPORTED)
        forget(w, one); /* the work of the task has ended, and the caller may submit the task
                           again */
    return status;
}

static bm_status watchdog_wait(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    watchdog *w = (watchdog *)backend;
    under_way *one = w->tasks;
    while (one != NULL && one->from != task)
        one = one->next;
    if (one == NULL)
        return BM_OK;
    BM_TRY(ask(w, WAIT, one, err));
    const double pace = (bm_clock_seconds() - one->begin) / (one->n_hashes + SMALL_TASK);
    if (pace > w->slowest)
        w->slowest = pace;
    forget(w, one);
    return BM_OK;
}

static bm_status watchdog_drain(bm_backend *backend, bm_error *err)
{
    watchdog *w = (watchdog *)backend;
    BM_TRY(ask(w, DRAIN, NULL, err));
    while (w->tasks != NULL) {
        forget(w, w->tasks);
    }
    return BM_OK;
}

/* Runs on the caller's own thread, because no driver is called. The place belongs to the inner
 * backend. NULL also if the device is stuck. */
static bm_staged *watchdog_stage(bm_backend *backend, const bm_sign_task *task)
{
    watchdog *w = (watchdog *)backend;
    pthread_mutex_lock(&w->lock);
    const bool stuck = w->stuck;
    pthread_mutex_unlock(&w->lock);
    return stuck ? NULL : bm_backend_stage(w->inner, task);
}

static void watchdog_free(watchdog *w)
{
    while (w->tasks != NULL)
        forget(w, w->tasks);
    pthread_cond_destroy(&w->posted);
    pthread_cond_destroy(&w->answered);
    pthread_mutex_destroy(&w->lock);
    for (size_t i = 0; i < N_STRINGS; i++)
        bm_free(w->with.strings[i]);
    bm_free(w);
}

static void watchdog_close(bm_backend *backend)
{
    watchdog *w = (watchdog *)backend;
    if (w == NULL)
        return;
    ask(w, CLOSE, NULL, NULL);
    if (w->stuck)
        return; /* the thread remains, with everything that it may use */
    pthread_join(w->thread, NULL);
    watchdog_free(w);
}

/* --- opening --- */

/* Copy everything that the configuration points to. */
static bm_status copy_cfg(watchdog *w, const bm_backend_cfg *cfg, bm_error *err)
{
    opening *o = &w->with;
    o->cfg = *cfg;
    if (cfg->text != NULL) {
        o->text = *cfg->text;
        o->cfg.text = &o->text;
    }
    if (cfg->settings != NULL)
        o->settings = *cfg->settings;
    o->cfg.settings = &o->settings;
    w->outer = cfg->callbacks;
    o->callbacks = (bm_callbacks){.ctx = w, .log = forward_log, .cancelled = forward_cancelled};
    o->cfg.callbacks = &o->callbacks;
    const char **const strings[N_STRINGS] = {&o->cfg.device,
                                             &o->cfg.cpu,
                                             &o->cfg.cache_dir,
                                             &o->settings.probe_program,
                                             &o->settings.tuning_path,
                                             &o->settings.kernel_family,
                                             &o->settings.kernel_params};
    for (size_t i = 0; i < N_STRINGS; i++) {
        if (*strings[i] == NULL)
            continue;
        BM_TRY(bm_copy_text(*strings[i], &o->strings[i], err));
        *strings[i] = o->strings[i];
    }
    return BM_OK;
}

static bm_status start_thread(watchdog *w, bm_error *err)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->posted, &attributes);
    pthread_cond_init(&w->answered, &attributes);
    pthread_condattr_destroy(&attributes);
    const int failed = bm_thread_start(&w->thread, serve, w);
    return failed == 0 ? BM_OK : bm_fail_thread(failed, err);
}

static bm_status watchdog_open(const bm_backend_cfg *cfg, bm_backend **out, bm_error *err)
{
    watchdog *w = NULL;
    BM_TRY(bm_new_zero(&w, 1, err));
    bm_status status = BM_OK;
    bool started = false;
    BM_TRY_OUT(copy_cfg(w, cfg, err));
    BM_TRY_OUT(start_thread(w, err));
    started = true;
    status = ask(w, OPEN, NULL, err);
out:
    pthread_mutex_lock(&w->lock);
    w->outer = NULL;
    pthread_mutex_unlock(&w->lock);
    if (status == BM_OK) {
        w->base = *w->inner;
        w->base.ops = &bm_backend_opencl;
        *out = &w->base;
        return BM_OK;
    }
    if (started)
        watchdog_close(&w->base);
    else
        watchdog_free(w);
    return status;
}

const bm_backend_ops bm_backend_opencl = {.name = "opencl",
                                          .open = watchdog_open,
                                          .submit = watchdog_submit,
                                          .wait = watchdog_wait,
                                          .drain = watchdog_drain,
                                          .close = watchdog_close,
                                          .stage = watchdog_stage};
