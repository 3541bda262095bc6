/* cl_watchdog.c -- the row bm_backend_opencl: an OpenCL device that may stop answering.
 *
 * A call into a driver cannot be timed, nor ended from outside. So every call on a device is made
 * by a thread of its own, and the caller waits for the answer, but not for ever:
 *
 *     caller   post a call | wait until answered, or the limit
 *     thread   take the call | into cl_backend.c, and the driver | answer
 *
 * A device that has not answered within the limit is stuck: the caller gets BM_ERR_DEVICE, for this
 * call and all that follow, and goes on. Its thread stays where it is, and so does everything that
 * it, or the device, may still touch: the watchdog, the backend inside, and all that the tasks under
 * way point to, which the caller leaves alone too (bm_backend.stuck). This is leaked on purpose; a
 * process that has such threads should end by _exit, since a driver's exit handlers may wait for
 * them (bm_devices_left_behind).
 *
 * The limit: $BANDMILL_DEVICE_SECONDS, else 120 s + 1 us a hash under way + 20 times what they
 * would take at the slowest pace seen. To open a device includes its trial run, which has a limit
 * of its own; together twice that limit and this one.
 *
 * Threads: as bm_backend says, one at a time. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bandmill/device.h>

#include "program/program.h"

#include "backend/opencl/cl_backend.h"
#include "backend/opencl/cl_probe.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#define DEFAULT_SECONDS 120.0
#define HASH_SECONDS    1e-6
#define PATIENCE        20.0
#define SMALL_TASK      100000.0 /* hashes: a smaller one says little about the pace */

typedef enum what { NOTHING, OPEN, SUBMIT, WAIT, DRAIN, CLOSE } what;

/* A task under way: our copy of the caller's, so that it lives as long as the device may need it.
 */
typedef struct under_way {
    bm_sign_task task;
    const bm_sign_task *from;
    double begin, n_hashes;
    struct under_way *next;
} under_way;

typedef struct watchdog {
    bm_backend base;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t posted, answered;
    what call; /* NOTHING: answered */
    under_way *subject;
    bm_status status;
    bm_error error;
    bool stuck;
    struct timespec deadline; /* of the call */
    bm_backend *inner;
    /* What it is opened with; `outer` is the caller's, and valid until open returned. */
    bm_backend_cfg cfg;
    bm_text_options text;
    bm_callbacks callbacks;
    const bm_callbacks *outer;
    char *device, *cpu, *cache_dir;
    /* The caller's alone. */
    under_way *tasks; /* oldest first */
    double slowest;   /* seconds a hash */
} watchdog;

/* A fact of the process and not of a handle: threads that are in a driver and will not come back.
 */
static atomic_uint left_behind;

uint32_t bm_devices_left_behind(void)
{
    return atomic_load(&left_behind);
}

/* --- how long is too long --- */

static double seconds_of(const char *name, double otherwise)
{
    const char *set = getenv(name);
    const double seconds = set != NULL ? strtod(set, NULL) : 0;
    return seconds > 0 ? seconds : otherwise;
}

static double limit_of(const watchdog *g)
{
    double n_hashes = 0;
    for (const under_way *u = g->tasks; u != NULL; u = u->next)
        n_hashes += u->n_hashes;
    return seconds_of("BANDMILL_DEVICE_SECONDS",
                      DEFAULT_SECONDS + n_hashes * (HASH_SECONDS + PATIENCE * g->slowest));
}

static struct timespec deadline_in(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const double most = 1e9; /* thirty years */
    seconds = seconds < most ? seconds : most;
    t.tv_sec += (time_t)seconds;
    t.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (t.tv_nsec >= 1000000000L) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000L;
    }
    return t;
}

static bool is_over(const struct timespec *deadline)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec != deadline->tv_sec ? now.tv_sec > deadline->tv_sec
                                          : now.tv_nsec >= deadline->tv_nsec;
}

/* The trial run of an open is over: the limit begins. */
static void after_probe(void *ctx)
{
    watchdog *g = ctx;
    pthread_mutex_lock(&g->lock);
    g->deadline = deadline_in(limit_of(g));
    pthread_cond_signal(&g->answered); /* who waits looks at the deadline again */
    pthread_mutex_unlock(&g->lock);
}

/* --- the thread --- */

static bm_status perform(watchdog *g, what call, under_way *subject, bm_error *err)
{
    const bm_backend_ops *ops = g->inner != NULL ? g->inner->ops : NULL;
    switch (call) {
    case OPEN:
        return bm_cl_backend_open(
            &g->cfg, &(bm_cl_open_options){.after_probe = after_probe, .after_probe_ctx = g},
            &g->inner, err);
    case SUBMIT:
        return ops->submit(g->inner, &subject->task, err);
    case WAIT:
        return ops->wait(g->inner, &subject->task, err);
    case DRAIN:
        return ops->drain(g->inner, err);
    case CLOSE:
        if (ops != NULL)
            ops->close(g->inner);
        return BM_OK;
    case NOTHING:
        break;
    }
    return BM_ERR_INTERNAL;
}

static void *serve(void *ctx)
{
    watchdog *g = ctx;
    stack_t before; /* LLVM, inside of some drivers, gives the thread a signal stack of its own */
    const bool known = sigaltstack(NULL, &before) == 0;
    pthread_mutex_lock(&g->lock);
    for (;;) {
        while (g->call == NOTHING)
            pthread_cond_wait(&g->posted, &g->lock);
        const what call = g->call;
        under_way *subject = g->subject;
        bm_error error = {0};
        pthread_mutex_unlock(&g->lock);
        const bm_status status = perform(g, call, subject, &error);
        pthread_mutex_lock(&g->lock);
        g->status = status;
        g->error = error;
        g->call = NOTHING;
        if (g->stuck || call == CLOSE)
            break; /* too late: nobody listens */
        pthread_cond_signal(&g->answered);
    }
    if (known)
        sigaltstack(&before, NULL);
    pthread_cond_signal(&g->answered);
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

static void forward_log(void *ctx, bm_log_level level, const char *message)
{
    watchdog *g = ctx;
    pthread_mutex_lock(&g->lock);
    if (!g->stuck && g->outer != NULL && g->outer->log != NULL)
        g->outer->log(g->outer->ctx, level, message);
    pthread_mutex_unlock(&g->lock);
}

/* --- the caller --- */

static bm_status stuck_error(double limit, bm_error *err)
{
    return bm_fail(err, BM_ERR_DEVICE, "the device did not answer within %.3g seconds", limit);
}

/* Make a call and wait for its answer. */
static bm_status ask(watchdog *g, what call, under_way *subject, bm_error *err)
{
    const double limit = limit_of(g);
    const double trial = call == OPEN ? seconds_of("BANDMILL_PROBE_SECONDS", DEFAULT_SECONDS) : 0;
    pthread_mutex_lock(&g->lock);
    g->deadline = deadline_in(limit + trial);
    if (!g->stuck) {
        g->call = call;
        g->subject = subject;
        pthread_cond_signal(&g->posted);
        while (g->call != NOTHING && !is_over(&g->deadline)) {
            const struct timespec until = g->deadline;
            pthread_cond_timedwait(&g->answered, &g->lock, &until);
        }
        if (g->call != NOTHING) {
            g->stuck = g->base.stuck = true;
            atomic_fetch_add(&left_behind, 1);
            pthread_detach(g->thread);
        }
    }
    const bool stuck = g->stuck;
    const bm_status status = g->status;
    if (!stuck && status != BM_OK && err != NULL)
        *err = g->error;
    pthread_mutex_unlock(&g->lock);
    return stuck ? stuck_error(limit, err) : status;
}

static void forget(watchdog *g, under_way *one)
{
    under_way **at = &g->tasks;
    while (*at != NULL && *at != one)
        at = &(*at)->next;
    if (*at != NULL)
        *at = one->next;
    bm_free(one);
}

static bm_status watchdog_submit(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    watchdog *g = (watchdog *)backend;
    under_way *one = bm_alloc_zero(1, sizeof *one), **end = &g->tasks;
    if (one == NULL)
        return bm_fail_nomem(err, sizeof *one);
    one->task = *task;
    one->from = task;
    one->begin = bm_clock_seconds();
    one->n_hashes = (double)(task->offsets[task->n_docs] - task->offsets[0]);
    while (*end != NULL)
        end = &(*end)->next;
    *end = one;
    bm_status status = ask(g, SUBMIT, one, err);
    if (status == BM_ERR_NOMEM && ask(g, DRAIN, NULL, NULL) != BM_OK)
        return status; /* what was begun of it stays under way */
    if (status == BM_ERR_NOMEM || status == BM_ERR_UNSUPPORTED)
        forget(g, one); /* nothing is done with it any more: it may come again */
    return status;
}

static bm_status watchdog_wait(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    watchdog *g = (watchdog *)backend;
    under_way *one = g->tasks;
    while (one != NULL && one->from != task)
        one = one->next;
    if (one == NULL)
        return BM_OK;
    bm_status status = ask(g, WAIT, one, err);
    if (status != BM_OK)
        return status;
    const double pace = (bm_clock_seconds() - one->begin) / (one->n_hashes + SMALL_TASK);
    if (pace > g->slowest)
        g->slowest = pace;
    forget(g, one);
    return BM_OK;
}

static bm_status watchdog_drain(bm_backend *backend, bm_error *err)
{
    watchdog *g = (watchdog *)backend;
    bm_status status = ask(g, DRAIN, NULL, err);
    while (status == BM_OK && g->tasks != NULL)
        forget(g, g->tasks);
    return status;
}

static void watchdog_free(watchdog *g)
{
    while (g->tasks != NULL)
        forget(g, g->tasks);
    pthread_cond_destroy(&g->posted);
    pthread_cond_destroy(&g->answered);
    pthread_mutex_destroy(&g->lock);
    bm_free(g->device);
    bm_free(g->cpu);
    bm_free(g->cache_dir);
    bm_free(g);
}

static void watchdog_close(bm_backend *backend)
{
    watchdog *g = (watchdog *)backend;
    ask(g, CLOSE, NULL, NULL);
    if (g->stuck)
        return; /* the thread, and all it may touch, stay */
    pthread_join(g->thread, NULL);
    watchdog_free(g);
}

static const bm_backend_ops watchdog_ops = {.name = "opencl",
                                            .submit = watchdog_submit,
                                            .wait = watchdog_wait,
                                            .drain = watchdog_drain,
                                            .close = watchdog_close};

/* --- opening --- */

static bm_status copy_text(const char *text, char **out, const char **field, bm_error *err)
{
    *field = NULL;
    if (text == NULL)
        return BM_OK;
    *field = *out = bm_strdup(text);
    return *out != NULL ? BM_OK : bm_fail_nomem(err, strlen(text));
}

/* The configuration as the thread may use it for good. */
static bm_status copy_cfg(watchdog *g, const bm_backend_cfg *cfg, bm_error *err)
{
    g->cfg = *cfg;
    bm_status status = copy_text(cfg->device, &g->device, &g->cfg.device, err);
    if (status == BM_OK)
        status = copy_text(cfg->cpu, &g->cpu, &g->cfg.cpu, err);
    if (status == BM_OK)
        status = copy_text(cfg->cache_dir, &g->cache_dir, &g->cfg.cache_dir, err);
    if (cfg->text != NULL) {
        g->text = *cfg->text;
        g->cfg.text = &g->text;
    }
    g->outer = cfg->callbacks;
    g->callbacks = (bm_callbacks){.ctx = g, .log = forward_log};
    g->cfg.callbacks = &g->callbacks;
    return status;
}

static bm_status start_thread(watchdog *g, bm_error *err)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->posted, &attributes);
    pthread_cond_init(&g->answered, &attributes);
    pthread_condattr_destroy(&attributes);
    const int failed = bm_thread_start(&g->thread, serve, g);
    return failed == 0 ? BM_OK : bm_fail_errno(err, failed, "", "cannot start a thread");
}

static bm_status watchdog_open(const bm_backend_cfg *cfg, bm_backend **out, bm_error *err)
{
    watchdog *g = bm_alloc_zero(1, sizeof *g);
    if (g == NULL)
        return bm_fail_nomem(err, sizeof *g);
    bm_status status = copy_cfg(g, cfg, err);
    bool started = false;
    if (status == BM_OK) {
        status = start_thread(g, err);
        started = status == BM_OK;
    }
    if (status == BM_OK)
        status = ask(g, OPEN, NULL, err);
    pthread_mutex_lock(&g->lock);
    g->outer = NULL;
    pthread_mutex_unlock(&g->lock);
    if (status == BM_OK) {
        g->base = *g->inner;
        g->base.ops = &watchdog_ops;
        *out = &g->base;
        return BM_OK;
    }
    if (started)
        watchdog_close(&g->base);
    else
        watchdog_free(g);
    return status;
}

/* A backend of either kind: guarded, or opened by bm_cl_backend_open. */
static bm_status row_submit(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    return backend->ops->submit(backend, task, err);
}

static bm_status row_wait(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    return backend->ops->wait(backend, task, err);
}

static bm_status row_drain(bm_backend *backend, bm_error *err)
{
    return backend->ops->drain(backend, err);
}

static void row_close(bm_backend *backend)
{
    if (backend != NULL)
        backend->ops->close(backend);
}

const bm_backend_ops bm_backend_opencl = {.name = "opencl",
                                          .open = watchdog_open,
                                          .submit = row_submit,
                                          .wait = row_wait,
                                          .drain = row_drain,
                                          .close = row_close};
