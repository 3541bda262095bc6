/* SPDX-License-Identifier: Apache-2.0 */
/* threads.h -- threads, a pool that shares work among threads, a team of threads that helps several
 * callers, and a bounded queue between threads. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include <bandmill/status.h>

/* thread -- starts a thread that blocks the program's signals. */

/* Like pthread_create with default attributes. Returns 0 or an errno. The new thread blocks
 * signals, and so do threads that a driver starts from it, so that signals to the process are
 * delivered to the program's own threads. SIGPROF and the signals of faults, which the faulting
 * thread receives, are not blocked. */
int bm_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);
/* Fail because a thread could not be started. pthread_create fails with EAGAIN both if there are
 * too many threads and if there is no memory for a stack. Returns BM_ERR_NOMEM if there is no
 * memory, else BM_ERR_IO. */
bm_status bm_fail_thread(int errnum, bm_error *err);

/* Wait for the condition, but at most a tenth of a second, so that the caller can check whether to
 * stop. */
void bm_wait_shortly(pthread_cond_t *condition, pthread_mutex_t *lock);

/* queue -- a bounded queue of pointers between threads.
 *
 * push waits while the queue is full. pop waits while the queue has no item for the calling thread.
 * After close nothing more can be pushed, but the items in the queue can still be popped. After
 * abort, push and pop return false at once. The owner of the remaining items then takes them out
 * with drain, to free them. */

typedef struct bm_queue bm_queue;

#define BM_QUEUE_ANYBODY UINT32_MAX /* used as `whose`: any thread may pop the item */

/* Open a queue. It has space for `capacity` items (at least 1) that any thread may pop. */
bm_status bm_queue_open(size_t capacity, bm_queue **out, bm_error *err);
void bm_queue_free(bm_queue *queue); /* not the items; NULL is fine */
/* Push an item that any thread may pop. False: the queue is closed or aborted, and the caller keeps
 * the item. try_push does not wait, and also returns false if the queue is full. */
bool bm_queue_push(bm_queue *queue, void *item);
bool bm_queue_try_push(bm_queue *queue, void *item);
/* Push an item for one thread: only the thread with the number `whose` may pop it. The call never
 * waits, so the caller has to limit the number of such items. False: the queue is closed or
 * aborted, or there is no memory. */
bool bm_queue_push_for(bm_queue *queue, uint32_t whose, void *item);
/* Pop the oldest item that thread number `who` may pop. False: the queue is closed and has no such
 * item, or the queue is aborted. try_pop does not wait, and also returns false if there is no such
 * item. */
bool bm_queue_pop(bm_queue *queue, uint32_t who, void **item);
bool bm_queue_try_pop(bm_queue *queue, uint32_t who, void **item);
void bm_queue_close(bm_queue *queue);
void bm_queue_abort(bm_queue *queue);
/* After an abort: take out one of the remaining items. False: there is none. */
bool bm_queue_drain(bm_queue *queue, void **item);

/* pool -- a fixed number of threads that run one function at a time.
 *
 * bm_pool_run calls fn(ctx, i) once on each of the n threads (i = 0 … n-1), and returns when all
 * these calls have returned. fn itself divides the work, by an atomic counter or a queue. Thread 0
 * is the caller, so a pool of one thread starts none. One caller at a time. If calls fail, the
 * status and the error of the lowest thread number are returned. */

typedef struct bm_pool bm_pool;
typedef bm_status (*bm_pool_fn)(void *ctx, uint32_t thread, bm_error *err);

bm_status bm_pool_open(uint32_t n_threads, bm_pool **out, bm_error *err);
void bm_pool_close(bm_pool *pool); /* NULL is fine */
/* Free a pool in a forked child, where the threads of the pool do not exist. NULL is fine. */
void bm_pool_forget(bm_pool *pool);
uint32_t bm_pool_size(const bm_pool *pool);
bm_status bm_pool_run(bm_pool *pool, bm_pool_fn fn, void *ctx, bm_error *err);

/* The numbers 0 … n-1, split into ranges of `grain` numbers (0 counts as 1). The last range may
 * be shorter. */
typedef struct bm_pool_split {
    size_t n, grain;
} bm_pool_split;

/* Call fn(ctx, thread, begin, end) for each range, on all threads. The ranges do not depend on the
 * number of threads, but any thread may get any range. After a failure no more ranges are begun,
 * and the failure of the lowest range that failed is returned. */
typedef bm_status (*bm_pool_range_fn)(void *ctx, uint32_t thread, size_t begin, size_t end,
                                      bm_error *err);
bm_status bm_pool_for(bm_pool *pool, bm_pool_split split, bm_pool_range_fn fn, void *ctx,
                      bm_error *err);

/* team -- a fixed number of threads that help any number of callers at once.
 *
 * A caller submits a function that does one piece of the caller's work, and also does pieces
 * itself. The helpers go around all submitted works and do one piece of each. So every caller gets
 * the same share of the helpers, and a single caller gets all of them. */

typedef struct bm_team bm_team;

/* Do one piece of the work. False: no piece is left. Any number of helpers may call this at
 * once. */
typedef bool (*bm_team_fn)(void *ctx);

/* Filled by bm_team_begin. The caller owns the struct, and must not move it until bm_team_end
 * returns. */
typedef struct bm_team_work {
    bm_team_fn help;
    void *ctx;
    /* neighbours in the ring of works; NULL: the work is no longer in the ring */
    struct bm_team_work *next, *previous;
    uint32_t n_inside; /* helpers that are doing a piece of this work */
    pthread_cond_t left;
} bm_team_work;

/* Start a team of `n_helpers` threads, which may be 0. */
bm_status bm_team_open(uint32_t n_helpers, bm_team **out, bm_error *err);
void bm_team_close(bm_team *team);  /* no work may be left; NULL is fine */
void bm_team_forget(bm_team *team); /* as bm_pool_forget */
/* Submit a work. From now on, until bm_team_end has returned, helpers may call help(ctx).
 * `n_wanted` is the most helpers that are worth waking for this work. */
void bm_team_begin(bm_team *team, bm_team_fn help, void *ctx, uint64_t n_wanted,
                   bm_team_work *work);
/* Withdraw the work, and wait for the helpers that are doing a piece of it. */
void bm_team_end(bm_team *team, bm_team_work *work);
