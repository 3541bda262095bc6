/* SPDX-License-Identifier: Apache-2.0 */
/* ingest_order.h -- delivers batches in reading order, even if threads finish them in another
 * order.
 *
 *     ring      [ 7 ][   ][   ][ 6 ]      `window` places; batch n has place n % window
 *                          ^ batch 5 is not finished; batches 6 and 7 wait for it
 *
 * The steps of a batch:
 *
 *     settle    check the results of a device          any thread; one per device at a time
 *     reserve   reserve the batch's rows in the        in order, one batch at a time
 *               document table; the sink may claim
 *               the batch (bm_ingest_early)
 *     enter     enter its rows and ids into the        any thread; each shard receives
 *               table, shard by shard; also its        batches in order
 *               content hashes, if it is claimed
 *     deliver   report its failure, add its counts,    in order, one batch at a time
 *               call the sink's `place`
 *     put       call the sink's `put`                  any thread, in any order
 *
 * Reserve and deliver handle one batch at a time. They take constant time for a batch of any size.
 *
 * Entering. A shard of the document table (model/ids.h) is free or busy. When a thread has made a
 * batch ready to be entered, it visits all shards. If a shard is free, the thread enters the ready
 * batches into it, in order, up to the first batch that is not ready. When a thread leaves a shard,
 * it checks the shard once more, since a batch may have become ready while the shard was busy. So
 * no thread waits for a shard, and of several documents with equal ids, the first in input order is
 * entered first.
 *
 * Without early rows. If repeated ids are numbered, if memory is nearly used up, or if there is no
 * document table, `reserve` waits until all earlier batches are delivered, and reserves no rows.
 * Then `deliver` adds the documents to the table one by one. `reserve` also waits if the sink does
 * not claim the batch, since the data of the sink must move first.
 *
 * A worker that finishes a batch puts it into the ring. Then it does all steps that can be done,
 * for any batch, until there are none. Device workers only put their batches into the ring. The
 * failure of a batch is reported when the batch is delivered, so the first failure in input order
 * is reported. A failure that belongs to no batch stops the ingest at once.
 *
 * Threads: any. At any time, a batch has exactly one owner: the list of free batches, the worker
 * that reads, parses and signs it, the queue to the devices, a device worker, or the ring. */
#pragma once

#include <pthread.h>

#include "base/memory.h"
#include "base/threads.h"
#include "sign/ingest_cfg.h"

/* ingest_batch -- the memory of a batch, and its signing task. */

/* Free batch->raw, if it is set. */
void bm_ingest_batch_drop_raw(const bm_ingest_cfg *cfg, bm_ingest_batch *batch);
/* Free the batch; NULL is fine. Its raw batch must have been dropped. */
void bm_ingest_batch_free(bm_ingest_batch *batch);
/* Reserve memory for the outputs, and fill in the task. */
bm_status bm_ingest_batch_make_task(const bm_ingest_cfg *cfg, bm_ingest_batch *batch,
                                    bm_error *err);
/* Call this after a staged task is done. The words and keys of the batch are then those in the
 * place where the task is staged, until it is unstaged. If the task was not staged, nothing
 * changes. */
void bm_ingest_batch_read_in_place(bm_ingest_batch *batch);
/* If the task is staged, release its place in the device. Afterwards the outputs are the batch's
 * own arrays again. */
void bm_ingest_batch_unstage(bm_ingest_batch *batch);
/* Make a new batch of the same documents, with its own outputs, to be signed again. This is for a
 * stuck device, which may still use the memory of the old batch. So the old batch is never freed,
 * and neither are the inputs, which the two batches share. NULL: no memory. */
bm_ingest_batch *bm_ingest_batch_replace(const bm_ingest_batch *batch);

/* The division of the memory for batches. */
typedef struct bm_ingest_shares {
    uint64_t all;   /* bytes for all batches; 0: no limit */
    uint64_t batch; /* bytes of a batch of usual size */
    uint64_t taken; /* additional bytes taken by batches with long documents */
    uint64_t alone; /* 1 + the number of the batch that is alone; 0: no batch is alone */
} bm_ingest_shares;

/* A shard of the document table, on its own cache line. */
typedef struct bm_ingest_shard {
    _Alignas(BM_ALIGNMENT) atomic_uint_least64_t next; /* the next batch to enter */
    atomic_bool busy;
} bm_ingest_shard;

typedef struct bm_ingest_order {
    const bm_ingest_cfg *cfg;
    bm_queue *queue; /* queue to the device workers; aborted by a failure; borrowed; may be NULL */
    /* Settles a batch that a device has signed. The caller has locked batch->turn.device->lock;
     * this function unlocks it. */
    void (*settle)(const bm_ingest_cfg *cfg, bm_ingest_batch *batch);
    uint64_t window;
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t moved; /* a number below changed, `stop` was set, or a device placed a batch */
    bm_ingest_batch **ring;
    uint64_t reserve;   /* the next batch to reserve */
    uint64_t enter;     /* the first reserved batch that no thread has begun to enter */
    uint64_t next;      /* the next batch to deliver */
    uint64_t put;       /* the first delivered batch that no thread has begun to put */
    uint64_t done;      /* number of batches that have left the ring */
    uint64_t unsettled; /* number of batches in the ring that have turn.device set */
    bool delivering, stop, put_failed;
    bool in_turn; /* no batch may be reserved now: the ingest pauses, or the last reserved batch is
                   * not claimed or has no rows, and is not delivered yet */
    bm_ingest_shares shares;
    bm_ingest_batch **free;
    size_t n_free;
    bm_status status; /* the first failure in input order */
    bm_error error;
    uint64_t failed;       /* number of the failed batch; 0 if the failure belongs to no batch */
    bm_ingest_times times; /* sums of the threads that have ended */
    /* The members below are used without the lock. */
    bm_ingest_shard *shards;
    atomic_uint_least64_t *ready; /* ready[n % window] == n + 1: batch n is ready to be entered */
} bm_ingest_order;

/* On failure too, `out` may be closed. */
bm_status bm_ingest_order_open(const bm_ingest_cfg *cfg, uint64_t window, bm_ingest_order *out,
                               bm_error *err);
void bm_ingest_order_close(bm_ingest_order *order); /* also frees its batches */
/* Return an empty batch; NULL: no memory. */
bm_ingest_batch *bm_ingest_order_new_batch(bm_ingest_order *order);
/* Wait until batch number `n` may be read, and has a place in the ring. False: the ingest stops. */
bool bm_ingest_order_wait(bm_ingest_order *order, uint64_t n);
/* Raise the cost of batch number n, which is being read, from share->cost to `cost`. Waits until
 * the additional bytes are free. False: the ingest stops. */
bool bm_ingest_order_share(bm_ingest_order *order, uint64_t n, bm_ingest_share *share,
                           uint64_t cost);
/* Make batch number n, which is being read, the only batch in flight. Waits until all earlier
 * batches have left the ring. No later batch is read until batch n has left it too. Frees unused
 * batches. False: the ingest stops. */
bool bm_ingest_order_alone(bm_ingest_order *order, uint64_t n, bm_ingest_share *share);
/* Release the share of a batch that was dropped while it was read. *share becomes {0}. */
void bm_ingest_order_release(bm_ingest_order *order, bm_ingest_share *share);
/* For device workers: put a finished batch into its place in the ring, and leave all further steps,
 * including settling, to workers. */
void bm_ingest_order_place(bm_ingest_order *order, bm_ingest_batch *batch);
/* For workers: put a finished batch into its place in the ring (NULL: there is no batch). Then do
 * all steps that can be done. */
void bm_ingest_order_deliver(bm_ingest_order *order, bm_ingest_batch *batch);
/* For workers, at the end: do steps until all n batches are done, or the ingest stops. After a
 * stop, batches that may still be put are put first. */
void bm_ingest_order_finish(bm_ingest_order *order, uint64_t n);
/* End the ingest with a failure of batch number n (0 if it belongs to no batch). If an earlier
 * batch has failed, its failure stays. */
void bm_ingest_order_fail(bm_ingest_order *order, uint64_t n, bm_status status,
                          const bm_error *error);
/* Add the times of a thread that ends. */
void bm_ingest_order_add_times(bm_ingest_order *order, const bm_ingest_times *times);
