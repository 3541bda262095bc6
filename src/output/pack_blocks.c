/* pack_blocks.c -- a ring of blocks: the caller fills them and hands on what came of them, in order;
 * threads compress them in between.
 *
 *     n_written          n_begun           n_filled
 *     | done, being      | being           | being
 *     | handed on        | compressed      | filled
 *
 * When the ring is full the caller compresses the next block itself, and waits only where all are
 * begun. So a ring of one block, without threads, is the same code.
 *
 * Tests: tests/unit/output/test_out_file.c, tests/race/race_pipeline.c, tests/fault/compression_memory.c */
#include "output/pack_blocks.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#define BLOCKS_SHARE 8u /* of the memory, for all blocks */

typedef struct block {
    char *in, *out;
    size_t n_in, n_out, cap_out;
    size_t handed_on; /* of n_out */
    bool done;        /* under the lock */
    bm_packed packed;
} block;

struct bm_pack_blocks {
    const bm_pack_ops *ops;
    void *state; /* the caller's */
    block *ring;
    size_t n_ring;
    uint64_t n_filled, n_written; /* the caller's */
    uint64_t n_ready, n_begun;    /* under the lock */
    bool ended, stop;
    pthread_mutex_t lock;
    pthread_cond_t work, finished;
    pthread_t *threads;
    size_t n_threads, most_threads;
};

bm_status bm_pack_blocks_open(const bm_pack_ops *ops, bm_pack_lanes lanes, bm_pack_blocks **out,
                              bm_error *err)
{
    bm_pack_blocks *b = NULL;
    BM_TRY(bm_new_zero(&b, 1, err));
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->work, NULL);
    pthread_cond_init(&b->finished, NULL);
    b->ops = ops;
    b->n_ring = lanes.threads > 1 ? (size_t)lanes.threads + 1 : 1;
    const uint64_t fit = lanes.memory / BLOCKS_SHARE / (2 * BM_PACK_BLOCK_BYTES);
    if (lanes.memory != 0 && b->n_ring > fit)
        b->n_ring = fit > 2 ? (size_t)fit : 1;
    b->most_threads = b->n_ring > 1 ? b->n_ring - 2 : 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&b->ring, b->n_ring, err));
    BM_TRY_OUT(bm_new_zero(&b->threads, b->most_threads, err));
    BM_TRY_OUT(ops->open(&b->state, err));
    *out = b;
    return BM_OK;
out:
    bm_pack_blocks_close(b);
    return status;
}

void bm_pack_blocks_close(bm_pack_blocks *b)
{
    if (b == NULL)
        return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_broadcast(&b->work);
    pthread_mutex_unlock(&b->lock);
    for (size_t i = 0; i < b->n_threads; i++)
        pthread_join(b->threads[i], NULL);
    for (size_t i = 0; b->ring != NULL && i < b->n_ring; i++) {
        bm_free(b->ring[i].in);
        bm_free(b->ring[i].out);
    }
    b->ops->close(b->state);
    pthread_cond_destroy(&b->finished);
    pthread_cond_destroy(&b->work);
    pthread_mutex_destroy(&b->lock);
    bm_free(b->threads);
    bm_free(b->ring);
    bm_free(b);
}

/* Compress a block; its memory grows to what its bytes may become. */
static void compress_block(const bm_pack_ops *ops, void *state, block *one)
{
    const size_t most = ops->bound(state, one->n_in);
    if (most > one->cap_out) {
        bm_free(one->out);
        one->out = bm_alloc(most, 1);
        one->cap_out = one->out != NULL ? most : 0;
    }
    one->n_out = one->handed_on = 0;
    one->packed = (bm_packed){NULL, one->out == NULL};
    if (one->out != NULL)
        one->packed =
            ops->block(state, (bm_str){one->in, one->n_in}, one->out, one->cap_out, &one->n_out);
}

/* Under the lock, which is let go meanwhile: compress the next block that nobody has begun. */
static void compress_next(bm_pack_blocks *b, void *state)
{
    block *one = &b->ring[b->n_begun++ % b->n_ring];
    pthread_mutex_unlock(&b->lock);
    compress_block(b->ops, state, one);
    pthread_mutex_lock(&b->lock);
    one->done = true;
    pthread_cond_signal(&b->finished);
}

static void *run_thread(void *arg)
{
    bm_pack_blocks *b = arg;
    void *state = NULL;
    /* Without a state of its own a thread leaves its blocks to the others. */
    if (b->ops->open(&state, NULL) == BM_OK) {
        pthread_mutex_lock(&b->lock);
        while (!b->stop) {
            if (b->n_begun < b->n_ready)
                compress_next(b, state);
            else
                pthread_cond_wait(&b->work, &b->lock);
        }
        pthread_mutex_unlock(&b->lock);
    }
    b->ops->close(state);
    return NULL;
}

/* The block that is being filled is full, or the last. */
static void give_block(bm_pack_blocks *b)
{
    if (b->n_filled == 1) /* the second: it is worth threads */
        while (b->n_threads < b->most_threads &&
               bm_thread_start(&b->threads[b->n_threads], run_thread, b) == 0)
            b->n_threads++;
    pthread_mutex_lock(&b->lock);
    b->ring[b->n_filled % b->n_ring].done = false;
    b->n_ready = ++b->n_filled;
    pthread_cond_signal(&b->work);
    pthread_mutex_unlock(&b->lock);
}

static void wait_for(bm_pack_blocks *b, const block *one)
{
    pthread_mutex_lock(&b->lock);
    while (!one->done) {
        if (b->n_begun < b->n_ready)
            compress_next(b, b->state);
        else
            pthread_cond_wait(&b->finished, &b->lock);
    }
    pthread_mutex_unlock(&b->lock);
}

/* Hand on the oldest block. *whole: all of it was. */
static bm_packed hand_on(bm_pack_blocks *b, bm_compress_step *step, bool *whole)
{
    block *oldest = &b->ring[b->n_written % b->n_ring];
    wait_for(b, oldest);
    *whole = false;
    if (oldest->packed.why != NULL || oldest->packed.no_memory)
        return oldest->packed;
    const size_t left = oldest->n_out - oldest->handed_on, room = step->cap - step->len;
    const size_t n = left < room ? left : room;
    memcpy(step->out + step->len, oldest->out + oldest->handed_on, n);
    step->len += n;
    oldest->handed_on += n;
    *whole = n == left;
    b->n_written += *whole;
    return (bm_packed){NULL, false};
}

/* Fill the block that comes next from step->in; false: no memory for one. */
static bool fill_block(bm_pack_blocks *b, bm_compress_step *step)
{
    block *one = &b->ring[b->n_filled % b->n_ring];
    if (one->in == NULL && (one->in = bm_alloc(BM_PACK_BLOCK_BYTES, 1)) == NULL)
        return false;
    const size_t room = BM_PACK_BLOCK_BYTES - one->n_in;
    const size_t n = step->in.len < room ? step->in.len : room;
    if (n > 0)
        memcpy(one->in + one->n_in, step->in.data, n);
    one->n_in += n;
    bm_pack_took(step, n);
    return true;
}

bm_packed bm_pack_blocks_run(bm_pack_blocks *b, bm_compress_step *step)
{
    step->done = false;
    for (;;) {
        const bool full = b->n_filled - b->n_written == b->n_ring;
        if (full || (b->ended && b->n_written < b->n_filled)) {
            bool whole;
            const bm_packed packed = hand_on(b, step, &whole);
            if (packed.why != NULL || packed.no_memory || !whole)
                return packed;
            if (!b->ended)
                b->ring[b->n_filled % b->n_ring].n_in = 0;
            continue;
        }
        step->done = b->ended;
        if (b->ended)
            return (bm_packed){NULL, false};
        if (!fill_block(b, step))
            return (bm_packed){NULL, true};
        const size_t n_in = b->ring[b->n_filled % b->n_ring].n_in;
        b->ended = step->end && step->in.len == 0;
        /* An empty stream is one empty block. */
        if (n_in == BM_PACK_BLOCK_BYTES || (step->part && step->in.len == 0 && n_in > 0) ||
            (b->ended && (n_in > 0 || b->n_filled == 0)))
            give_block(b);
        else if (!b->ended) {
            step->done = true;
            return (bm_packed){NULL, false};
        }
    }
}
