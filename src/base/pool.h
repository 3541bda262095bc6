/* pool.h -- a fixed number of threads that run one function at a time.
 *
 * bm_pool_run calls fn(ctx, i) once on each of the n threads (i = 0 … n-1) and returns when all
 * have returned; fn itself shares out the work, by an atomic counter or a queue. Thread 0 is the
 * caller, so a pool of one starts no thread. One caller at a time. The first status by thread
 * number that is not BM_OK is returned, with its error. */
#ifndef BM_BASE_POOL_H
#define BM_BASE_POOL_H

#include <bandmill/status.h>

typedef struct bm_pool bm_pool;
typedef bm_status (*bm_pool_fn)(void *ctx, uint32_t thread, bm_error *err);

bm_status bm_pool_open(uint32_t n_threads, bm_pool **out, bm_error *err);
void bm_pool_close(bm_pool *pool); /* NULL is fine */
uint32_t bm_pool_size(const bm_pool *pool);
bm_status bm_pool_run(bm_pool *pool, bm_pool_fn fn, void *ctx, bm_error *err);

/* 0 … n-1 in ranges of `grain` (0 counts as 1); the last may be shorter. */
typedef struct bm_pool_split {
    size_t n, grain;
} bm_pool_split;

/* Call fn(ctx, thread, begin, end) for each range, on all threads. The ranges are the same for any
 * number of threads; which thread gets which is not. Stops early after a failure, and returns that
 * of the lowest range that failed. */
typedef bm_status (*bm_pool_range_fn)(void *ctx, uint32_t thread, size_t begin, size_t end,
                                      bm_error *err);
bm_status bm_pool_for(bm_pool *pool, bm_pool_split split, bm_pool_range_fn fn, void *ctx,
                      bm_error *err);

#endif
