/* queue.c -- a ring under one mutex and two conditions. Batches are large, so the lock is taken
 * seldom and kept short. */
#include "base/queue.h"

#include <pthread.h>

#include "base/error.h"
#include "base/memory.h"

struct bm_queue {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    size_t capacity, head, count;
    bool closed, aborted;
    void *items[];
};

bm_status bm_queue_open(size_t capacity, bm_queue **out, bm_error *err)
{
    if (capacity == 0)
        capacity = 1;
    if (capacity > (SIZE_MAX - sizeof(bm_queue)) / sizeof(void *))
        return bm_fail_nomem(err, SIZE_MAX);
    size_t bytes = sizeof(bm_queue) + capacity * sizeof(void *);
    bm_queue *queue = bm_alloc_zero(1, bytes);
    if (queue == NULL)
        return bm_fail_nomem(err, bytes);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->not_full, NULL);
    pthread_cond_init(&queue->not_empty, NULL);
    queue->capacity = capacity;
    *out = queue;
    return BM_OK;
}

void bm_queue_free(bm_queue *queue)
{
    if (queue == NULL)
        return;
    pthread_cond_destroy(&queue->not_full);
    pthread_cond_destroy(&queue->not_empty);
    pthread_mutex_destroy(&queue->lock);
    bm_free(queue);
}

static bool push(bm_queue *queue, void *item, bool wait)
{
    pthread_mutex_lock(&queue->lock);
    while (wait && queue->count == queue->capacity && !queue->closed && !queue->aborted)
        pthread_cond_wait(&queue->not_full, &queue->lock);
    bool ok = !queue->closed && !queue->aborted && queue->count < queue->capacity;
    if (ok) {
        queue->items[(queue->head + queue->count) % queue->capacity] = item;
        queue->count++;
        pthread_cond_signal(&queue->not_empty);
    }
    pthread_mutex_unlock(&queue->lock);
    return ok;
}

bool bm_queue_push(bm_queue *queue, void *item)
{
    return push(queue, item, true);
}

bool bm_queue_try_push(bm_queue *queue, void *item)
{
    return push(queue, item, false);
}

static void *take(bm_queue *queue)
{
    void *item = queue->items[queue->head];
    queue->head = (queue->head + 1) % queue->capacity;
    queue->count--;
    pthread_cond_signal(&queue->not_full);
    return item;
}

bool bm_queue_pop(bm_queue *queue, void **item)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->closed && !queue->aborted)
        pthread_cond_wait(&queue->not_empty, &queue->lock);
    bool ok = queue->count != 0 && !queue->aborted;
    if (ok)
        *item = take(queue);
    pthread_mutex_unlock(&queue->lock);
    return ok;
}

bool bm_queue_try_pop(bm_queue *queue, void **item)
{
    pthread_mutex_lock(&queue->lock);
    bool ok = queue->count != 0 && !queue->aborted;
    if (ok)
        *item = take(queue);
    pthread_mutex_unlock(&queue->lock);
    return ok;
}

bool bm_queue_drain(bm_queue *queue, void **item)
{
    pthread_mutex_lock(&queue->lock);
    bool ok = queue->count != 0;
    if (ok)
        *item = take(queue);
    pthread_mutex_unlock(&queue->lock);
    return ok;
}

static void end(bm_queue *queue, bool abort)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    queue->aborted = queue->aborted || abort;
    pthread_cond_broadcast(&queue->not_full);
    pthread_cond_broadcast(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

void bm_queue_close(bm_queue *queue)
{
    end(queue, false);
}

void bm_queue_abort(bm_queue *queue)
{
    end(queue, true);
}
