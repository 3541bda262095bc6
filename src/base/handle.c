/* SPDX-License-Identifier: Apache-2.0 */
/* handle.c -- calls are counted by atomic additions; only close takes the lock.
 *
 * A process is identified by the number of forks from the first process down to it. A fork handler
 * counts them in the child. Comparing two numbers costs nothing, while getpid is a system call that
 * takes as long as signing a short text. A child made by a bare clone or _Fork runs no handlers;
 * POSIX allows it only async-signal-safe calls, and no call of this library is async-signal-safe.
 *
 * Tests: tests/unit/base/test_handle.c, tests/unit/inmem/test_signer_fork.c */
#include "base/handle.h"

#include <errno.h>

#include "base/error.h"
#include "base/idle.h"

/* --- processes --- */

static atomic_uint process;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;
static int process_error;

static void count_fork(void)
{
    atomic_fetch_add(&process, 1u);
}

static void watch_forks(void)
{
    process_error = pthread_atfork(NULL, NULL, count_fork);
}

static bool is_here(const bm_handle *handle)
{
    return handle->process == atomic_load_explicit(&process, memory_order_relaxed);
}

/* --- callbacks --- */

/* The handles that run callbacks on this thread, the innermost first. */
typedef struct caller {
    const bm_handle *handle;
    const struct caller *outer;
} caller;

static _Thread_local const caller *calling;

static bool calls_back(const bm_handle *handle)
{
    const caller *c = calling;
    while (c != NULL && c->handle != handle)
        c = c->outer;
    return c != NULL;
}

static void call_begin(bm_handle *handle, caller *own)
{
    pthread_mutex_lock(&handle->callback_lock);
    *own = (caller){handle, calling};
    calling = own;
}

static void call_end(bm_handle *handle, const caller *own)
{
    calling = own->outer;
    pthread_mutex_unlock(&handle->callback_lock);
}

static void call_progress(void *ctx, const bm_progress *progress)
{
    bm_handle *handle = ctx;
    caller own;
    call_begin(handle, &own);
    handle->callbacks.progress(handle->callbacks.ctx, progress);
    call_end(handle, &own);
}

static void call_log(void *ctx, bm_log_level level, const char *message)
{
    bm_handle *handle = ctx;
    caller own;
    call_begin(handle, &own);
    handle->callbacks.log(handle->callbacks.ctx, level, message);
    call_end(handle, &own);
}

static bool call_cancelled(void *ctx)
{
    bm_handle *handle = ctx;
    caller own;
    call_begin(handle, &own);
    const bool cancelled = handle->callbacks.cancelled(handle->callbacks.ctx);
    call_end(handle, &own);
    return cancelled;
}

bm_callbacks bm_handle_callbacks(bm_handle *handle)
{
    const bm_callbacks *own = &handle->callbacks;
    return (bm_callbacks){.ctx = handle,
                          .progress = own->progress != NULL ? call_progress : NULL,
                          .log = own->log != NULL ? call_log : NULL,
                          .cancelled = own->cancelled != NULL ? call_cancelled : NULL};
}

/* --- calls --- */

#define ONE_CALL ((size_t)2)
#define CLOSES   ((size_t)1)

bm_status bm_handle_init(bm_handle *handle, const char *name, const bm_callbacks *callbacks,
                         bm_error *err)
{
    *handle = (bm_handle){.name = name, .callbacks = *callbacks};
    pthread_once(&process_once, watch_forks);
    if (process_error != 0)
        return bm_fail_errno(err, process_error, "", "cannot watch for forks");
    handle->process = atomic_load(&process);
    pthread_mutex_init(&handle->callback_lock, NULL);
    pthread_mutex_init(&handle->lock, NULL);
    pthread_cond_init(&handle->left, NULL);
    return BM_OK;
}

void bm_handle_reset(bm_handle *handle)
{
    if (!is_here(handle))
        return;
    pthread_cond_destroy(&handle->left);
    pthread_mutex_destroy(&handle->lock);
    pthread_mutex_destroy(&handle->callback_lock);
}

bm_status bm_handle_enter(bm_handle *handle, unsigned *gate, bm_error *err)
{
    if (!is_here(handle))
        return bm_fail_field(err, handle->name,
                             "the %s belongs to the process that opened it (a forked child opens "
                             "one of its own)",
                             handle->name);
    if (calls_back(handle))
        return bm_fail_field(err, handle->name,
                             "the %s is called by one of its own callbacks (a callback may use "
                             "other handles)",
                             handle->name);
    *gate = bm_processor() % BM_HANDLE_GATES;
    atomic_size_t *calls = &handle->gates[*gate].calls;
    size_t now = atomic_load(calls);
    do {
        if ((now & CLOSES) != 0)
            return bm_fail(err, BM_ERR_CANCELLED, "the %s is being closed", handle->name);
    } while (!atomic_compare_exchange_weak(calls, &now, now + ONE_CALL));
    return BM_OK;
}

void bm_handle_leave(bm_handle *handle, unsigned gate)
{
    if (atomic_fetch_sub(&handle->gates[gate].calls, ONE_CALL) != ONE_CALL + CLOSES)
        return; /* from here on the handle may have been freed */
    pthread_mutex_lock(&handle->lock);
    if (--handle->n_busy == 0)
        pthread_cond_signal(&handle->left);
    pthread_mutex_unlock(&handle->lock);
}

bm_closing bm_handle_close(bm_handle *handle)
{
    if (!is_here(handle))
        return BM_CLOSING_FORKED;
    if (calls_back(handle))
        return BM_CLOSING_REFUSED;
    pthread_mutex_lock(&handle->lock);
    for (unsigned i = 0; i < BM_HANDLE_GATES; i++)
        if (atomic_fetch_or(&handle->gates[i].calls, CLOSES) >= ONE_CALL)
            handle->n_busy++;
    pthread_mutex_unlock(&handle->lock);
    return BM_CLOSING;
}

void bm_handle_await(bm_handle *handle)
{
    pthread_mutex_lock(&handle->lock);
    while (handle->n_busy > 0)
        pthread_cond_wait(&handle->left, &handle->lock);
    pthread_mutex_unlock(&handle->lock);
}
