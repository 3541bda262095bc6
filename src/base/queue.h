/* queue.h -- a bounded queue of pointers between threads.
 *
 * push waits while the queue is full, pop while it is empty. After close nothing more can be
 * pushed, and what is inside can still be popped. After abort both return false at once; whoever
 * owns the items that are left inside takes them out with drain, to free them. */
#ifndef BM_BASE_QUEUE_H
#define BM_BASE_QUEUE_H

#include <stdbool.h>

#include <bandmill/status.h>

typedef struct bm_queue bm_queue;

bm_status bm_queue_open(size_t capacity, bm_queue **out, bm_error *err);
void bm_queue_free(bm_queue *queue); /* not the items; NULL is fine */
/* False: closed or aborted; the item stays the caller's. try_push does not wait, and is false where
 * the queue is full too. */
bool bm_queue_push(bm_queue *queue, void *item);
bool bm_queue_try_push(bm_queue *queue, void *item);
/* False: closed and empty, or aborted. try_pop does not wait, and is false where the queue is empty
 * too. */
bool bm_queue_pop(bm_queue *queue, void **item);
bool bm_queue_try_pop(bm_queue *queue, void **item);
void bm_queue_close(bm_queue *queue);
void bm_queue_abort(bm_queue *queue);
/* After an abort: the items that are left, one a call; false: none. */
bool bm_queue_drain(bm_queue *queue, void **item);

#endif
