/* SPDX-License-Identifier: Apache-2.0 */
/* ingest_order.h -- delivers batches in reading order, whichever thread finished them.
 *
 *     ring      [ 7 ][   ][   ][ 6 ]      `window` places; batch n has place n % window
 *                          ^ 5 is still being made, 6 and 7 wait for it
 *
 * The steps of a batch:
 *
 *     settle    check what a device has signed         any thread, one for each device
 *     reserve   reserve the batch's rows in the        in order, one at a time
 *               document table; the sink may claim it
 *     enter     enter its rows and ids and, if it      any thread; each shard in order
 *               is claimed, its content hashes,
 *               shard by shard
 *     deliver   report its failure, add its counts,    in order, one at a time
 *               call the sink's `place`
 *     put       call the sink's `put`                  any thread, in any order
 *
 * Steps that run one at a time take constant time for a batch of any size. A shard of the table
 * (model/ids.h) is free or busy. A thread that has made a batch ready visits all shards and enters
 * all ready batches into each free one, up to the first batch that is not ready. A thread that
 * leaves a shard checks it once more, since a batch may have become ready while the shard was busy.
 * So no thread waits for a shard, and the first of two equal ids in input order is the first in the
 * table. If repeated ids are numbered, memory is nearly used up or there is no document table,
 * `reserve` waits until all batches before are delivered, and `deliver` adds the documents one by
 * one. It also waits if the sink does not claim the batch, since the sink's data has to move first.
 *
 * A worker that brings a batch does all steps that can be done, for its own batch and others, and
 * leaves when there is nothing more to do. Device workers only place their batches in the ring. A
 * failed batch keeps its failure until its turn, so the first failure in input order is reported. A
 * failure that belongs to no batch stops the ingest at once.
 *
 * Threads: any. A batch is owned by exactly one of: the list of free ones, the worker that reads,
 * parses and signs it, the queue to the devices, a device worker, the ring. */
#pragma once

#include <pthread.h>

#include "base/memory.h"
#include "base/threads.h"
#include "sign/ingest_cfg.h"

/* ingest_batch -- the memory of a batch, and its signing task. */

/* Release the raw batch, if there is one. */
void bm_ingest_batch_drop_raw(const bm_ingest_cfg *cfg, bm_ingest_batch *batch);
/* Free the batch; NULL is fine. Its raw batch must have been dropped. */
void bm_ingest_batch_free(bm_ingest_batch *batch);
/* Reserve memory for the outputs, and fill in the task. */
bm_status bm_ingest_batch_make_task(const bm_ingest_cfg *cfg, bm_ingest_batch *batch,
                                    bm_error *err);
/* After the task is done: if it was staged, its words and keys are read in that place, until it is
 * unstaged. */
void bm_ingest_batch_read_in_place(bm_ingest_batch *batch);
/* Release the place that the task is staged in, if any; the outputs are the batch's own arrays
 * again. */
void bm_ingest_batch_unstage(bm_ingest_batch *batch);
/* A new batch of the same documents, to be signed again, with its own outputs. For a stuck device,
 * which may go on to access the memory of the old batch: the old batch is left to it for ever, and
 * the inputs, which both batches share, are never freed. NULL: no memory. */
bm_ingest_batch *bm_ingest_batch_replace(const bm_ingest_batch *batch);

/* The share of batches, and how much of it is taken. */
typedef struct bm_ingest_shares {
    uint64_t all;   /* bytes; 0: no limit */
    uint64_t batch; /* bytes of an ordinary batch */
    uint64_t taken; /* bytes taken by batches with long documents, in addition */
    uint64_t alone; /* 1 + the number of the batch that is alone; 0: none */
} bm_ingest_shares;

/* A shard of the document table, on a cache line of its own. */
typedef struct bm_ingest_shard {
    _Alignas(BM_ALIGNMENT) atomic_uint_least64_t next; /* the next batch to enter */
    atomic_bool busy;
} bm_ingest_shard;

typedef struct bm_ingest_order {
    const bm_ingest_cfg *cfg;
    bm_queue *queue; /* queue to the device workers; aborted by a failure; borrowed; NULL: none */
    /* Settle a batch that a device has signed; the lock of batch->turn.device is held on entry and
     * released. */
    void (*settle)(const bm_ingest_cfg *cfg, bm_ingest_batch *batch);
    uint64_t window;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t moved; /* a number below changed, `stop` was set, or a device placed a batch */
    bm_ingest_batch **ring;
    uint64_t reserve;   /* the first batch without rows */
    uint64_t enter;     /* the first batch with rows that no thread has begun to enter */
    uint64_t next;      /* the next batch to deliver */
    uint64_t put;       /* the first delivered batch that no thread has begun to put */
    uint64_t done;      /* batches that have left the ring */
    uint64_t unsettled; /* batches in the ring whose turn.device is set */
    bool delivering, stop, put_failed;
    bool in_turn; /* no batch may be reserved: the last one was not claimed or has no rows and is
                   * not delivered yet, or the ingest pauses */
    bm_ingest_shares shares;
    bm_ingest_batch **free;
    size_t n_free;
    bm_status status; /* the first failure in input order */
    bm_error error;
    uint64_t failed;       /* the number of the failed batch; 0 also if the failure belongs to
                            * none */
    bm_ingest_times times; /* sums of the threads that have ended */
    /* Used without the lock: */
    bm_ingest_shard *shards;
    atomic_uint_least64_t *ready; /* at n % window: 1 + n once batch n is ready for the shards */
} bm_ingest_order;

/* `out` may be closed whatever the status. */
bm_status bm_ingest_order_open(const bm_ingest_cfg *cfg, uint64_t window, bm_ingest_order *out,
                               bm_error *err);
void bm_ingest_order_close(bm_ingest_order *order); /* frees the batches in it */
/* An empty batch; NULL: no memory. */
bm_ingest_batch *bm_ingest_order_new_batch(bm_ingest_order *order);
/* Wait until batch number `n` has a place in the ring; false: the ingest stops. */
bool bm_ingest_order_wait(bm_ingest_order *order, uint64_t n);
/* Raise the cost of batch number n, which is being read, from share->cost to `cost`: wait until the
 * difference is free. False: the ingest stops. */
bool bm_ingest_order_share(bm_ingest_order *order, uint64_t n, bm_ingest_share *share,
                           uint64_t cost);
/* Wait until all batches before number n, which is being read, are delivered. No later batch is
 * read until batch n is delivered. Frees unused batches. */
bool bm_ingest_order_alone(bm_ingest_order *order, uint64_t n, bm_ingest_share *share);
/* Release the share of the batch that was being read and was dropped; it becomes {0}. */
void bm_ingest_order_release(bm_ingest_order *order, bm_ingest_share *share);
/* Put a finished batch into its place in the ring, and leave all further steps, including settling,
 * to workers. For device workers. */
void bm_ingest_order_place(bm_ingest_order *order, bm_ingest_batch *batch);
/* The same for a worker, which then does all steps that can be done. batch NULL: only those. */
void bm_ingest_order_deliver(bm_ingest_order *order, bm_ingest_batch *batch);
/* There are n batches in all: do steps until all are done, or the ingest stops. */
void bm_ingest_order_finish(bm_ingest_order *order, uint64_t n);
/* End the ingest with this failure of batch number n (0 also if it belongs to none), unless an
 * earlier batch has failed. */
void bm_ingest_order_fail(bm_ingest_order *order, uint64_t n, bm_status status,
                          const bm_error *error);
/* Add the times of a thread that ends. */
void bm_ingest_order_add_times(bm_ingest_order *order, const bm_ingest_times *times);
