/* SPDX-License-Identifier: Apache-2.0 */
/* handle.h -- what every open handle of the public interface has to know: the process that it
 * belongs to, the calls that are under way in it, and the callbacks of the program.
 *
 * A public call goes in by bm_handle_enter and out by bm_handle_leave. Close lets nobody in any
 * more and waits until all are out. The calls are counted at several gates, by processor, so that
 * threads on different processors write to different cache lines.
 *
 * A forked child has a copy of the handle, but none of its threads, and its locks as they were when
 * the process forked: perhaps held by a thread that the child does not have. So no call of a child
 * goes in, and its close may free memory that nobody was using, but wait for nothing and lock
 * nothing.
 *
 * A callback of the program that calls into the handle that called it would wait for itself, so
 * that call does not go in either.
 *
 * Threads: any number may enter and leave. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_HANDLE_GATES 16u

typedef struct bm_handle_gate {
    atomic_size_t calls; /* that came in here and are under way, times 2; odd: the handle closes */
    char others[64 - sizeof(size_t)];
} bm_handle_gate;

typedef struct bm_handle {
    const char *name; /* for people, and the field of errors: "signer" */
    unsigned process;
    bm_callbacks callbacks; /* the program's */
    pthread_mutex_t callback_lock;
    pthread_mutex_t lock; /* of the next two */
    pthread_cond_t left;
    size_t n_busy; /* gates with calls under way, once the handle closes */
    bm_handle_gate gates[BM_HANDLE_GATES];
} bm_handle;

/* `name` is borrowed; `callbacks` are copied. BM_ERR_NOMEM. */
bm_status bm_handle_init(bm_handle *handle, const char *name, const bm_callbacks *callbacks,
                         bm_error *err);
/* Destroys its locks; not in a forked child. */
void bm_handle_reset(bm_handle *handle);

/* Go in. *gate is for bm_handle_leave. BM_ERR_USAGE: the handle belongs to another process, or it
 * is called by one of its own callbacks. BM_ERR_CANCELLED: it is being closed. */
bm_status bm_handle_enter(bm_handle *handle, unsigned *gate, bm_error *err);
void bm_handle_leave(bm_handle *handle, unsigned gate);

/* Callbacks that call the program's, one at a time, and note on this thread that the handle is
 * calling back. A callback that the program does not have is NULL. */
bm_callbacks bm_handle_callbacks(bm_handle *handle);

typedef enum bm_closing {
    BM_CLOSING,        /* nobody comes in any more */
    BM_CLOSING_FORKED, /* the handle belongs to another process */
    BM_CLOSING_REFUSED /* this is a callback of the handle, which stays open */
} bm_closing;

bm_closing bm_handle_close(bm_handle *handle);
/* After BM_CLOSING: wait until all calls are out. */
void bm_handle_await(bm_handle *handle);
