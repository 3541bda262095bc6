/* SPDX-License-Identifier: Apache-2.0 */
/* handle.h -- the part that every open handle of the public interface has: the process that it
 * belongs to, the calls in progress, and the callbacks of the program.
 *
 * A public call begins with bm_handle_enter and ends with bm_handle_leave. Close refuses new calls,
 * and waits until all calls in progress have left. Calls are counted at several gates, each for
 * some of the processors, so that threads on different processors write to different cache lines.
 *
 * A forked child has a copy of the handle, but none of its threads, and a copied lock may be held
 * by a thread that does not exist in the child. So the child may not enter. When it closes the
 * handle, memory that no call was using may be freed, but nothing may wait or lock.
 *
 * A callback that calls its own handle would wait for itself, so such a call is refused too.
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
    /* twice the number of calls in progress that entered here; plus 1 while the handle is being
     * closed */
    atomic_size_t calls;
    char others[64 - sizeof(size_t)];
} bm_handle_gate;

typedef struct bm_handle {
    const char *name; /* name of the handle in messages, and as the field of errors: "signer" */
    unsigned process;
    bm_callbacks callbacks; /* the callbacks of the program */
    pthread_mutex_t callback_lock;
    pthread_mutex_t lock; /* guards `left` and `n_busy` */
    pthread_cond_t left;
    size_t n_busy; /* number of gates with calls in progress, while the handle is being closed */
    bm_handle_gate gates[BM_HANDLE_GATES];
} bm_handle;

/* Make a handle that belongs to this process. `name` is borrowed; `callbacks` are copied.
 * BM_ERR_NOMEM. */
bm_status bm_handle_init(bm_handle *handle, const char *name, const bm_callbacks *callbacks,
                         bm_error *err);
/* Destroy the locks. In a forked child this does nothing. */
void bm_handle_reset(bm_handle *handle);

/* Begin a call. *gate is for bm_handle_leave. BM_ERR_USAGE: the handle belongs to another process,
 * or the call comes from a callback of the handle. BM_ERR_CANCELLED: the handle is being closed. */
bm_status bm_handle_enter(bm_handle *handle, unsigned *gate, bm_error *err);
void bm_handle_leave(bm_handle *handle, unsigned gate);

/* Returns callbacks that call the program's callbacks, one at a time. While one of them runs, its
 * thread counts as being in a callback of the handle. A callback that the program did not set is
 * NULL. */
bm_callbacks bm_handle_callbacks(bm_handle *handle);

typedef enum bm_closing {
    BM_CLOSING,        /* no further call may enter */
    BM_CLOSING_FORKED, /* the handle belongs to another process */
    BM_CLOSING_REFUSED /* this is a callback of the handle, which stays open */
} bm_closing;

bm_closing bm_handle_close(bm_handle *handle);
/* After BM_CLOSING: wait until all calls have left. */
void bm_handle_await(bm_handle *handle);
