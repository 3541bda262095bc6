/* queue.h -- a bounded queue of pointers between threads.
 *
 * push waits while it is full, pop while it is empty. close: no more will come; what is inside can
 * still be popped. abort: every call returns false at once. Pointers left inside after an abort
 * stay the owner's to free (bm_queue_drain). */
#ifndef BM_BASE_QUEUE_H
#define BM_BASE_QUEUE_H

#include <stdbool.h>

#include <bandmill/status.h>

typedef struct bm_queue bm_queue;

bm_status bm_queue_open(size_t capacity, bm_queue **out, bm_error *err);
void bm_queue_free(bm_queue *queue); /* frees the queue; NULL is fine */
bool bm_queue_push(bm_queue *queue,
                   void *item); /* false: closed or aborted; the item stays the caller's */
bool bm_queue_try_push(bm_queue *queue, void *item); /* false: full too; does not wait */
bool bm_queue_pop(bm_queue *queue, void **item);     /* false: closed and empty, or aborted */
bool bm_queue_try_pop(bm_queue *queue,
                      void **item); /* false: empty, closed or aborted; does not wait */
void bm_queue_close(bm_queue *queue);
void bm_queue_abort(bm_queue *queue);
bool bm_queue_drain(bm_queue *queue, void **item); /* after an abort: what is left, one by one */

#endif
