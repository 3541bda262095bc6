/* SPDX-License-Identifier: Apache-2.0 */
/* ingest_order.h -- batches come back in reading order, whoever finished them.
 *
 *     ring      [ 7 ][   ][   ][ 6 ]      `window` places; batch n has place n % window
 *                          ^ 5 is still being made, 6 and 7 wait for it
 *
 *     settle    what a device has signed is checked    any thread, one for each device
 *     reserve   rows for it in the document table,     in order, one at a time
 *               and the sink may claim it
 *     enter     its rows, ids and, where it is         any thread; each shard in order
 *               claimed, content hashes, by shards
 *     deliver   its failure, counts, sink              in order, one at a time
 *     put       to the places that the sink gave       any thread, in any order
 *
 * Steps that are done one at a time take the same time for a batch of any size. A shard of the
 * table (model/ids.h) is free or busy: whoever has made a batch ready goes round the shards, and
 * brings each free one all batches that are ready, up to the first that is not; whoever leaves a
 * shard looks once more, for a batch may have become ready while the shard was busy. So nobody
 * waits for a shard, and the first of two equal ids in input order is the first in the table. Where
 * repeated ids are numbered, memory is nearly used up or there is no document table, `reserve`
 * waits until all before is delivered, and `deliver` adds document by document. It waits too where
 * the sink does not claim the batch, since what the sink holds has to move first.
 *
 * Whoever brings a batch does what can be done, his own batch or others; threads of devices only
 * put theirs down. A thread leaves when there is nothing more to do. A batch that fails carries its
 * failure to its turn, so the first failure in input order is the one that is reported. A failure
 * that belongs to no batch stops the ingest at once.
 *
 * Threads: any. A batch is owned by exactly one of: the list of free ones, the worker that reads,
 * parses and signs it, the queue to the devices, a device worker, the ring. */
#pragma once

#include <pthread.h>

#include "base/memory.h"
#include "base/threads.h"
#include "sign/ingest_cfg.h"

/* ingest_batch -- a batch's memory, and the order to sign it. */

/* Release the raw batch, if there is one. */
void bm_ingest_batch_drop_raw(const bm_ingest_cfg *cfg, bm_ingest_batch *batch);
/* Free it all; NULL is fine. Its raw batch has been dropped. */
void bm_ingest_batch_free(bm_ingest_batch *batch);
/* Reserve memory for the outputs, and fill in the task that asks for them. */
bm_status bm_ingest_batch_make_task(const bm_ingest_cfg *cfg, bm_ingest_batch *batch,
                                    bm_error *err);
/* The task is done: words and keys of a staged one are read where they are, until it is
 * unstaged. */
void bm_ingest_batch_read_in_place(bm_ingest_batch *batch);
/* The place that the task was staged in, if in one, is given back; its outputs are the batch's own
 * again. */
void bm_ingest_batch_unstage(bm_ingest_batch *batch);
/* The same documents in a new batch, to be signed anew with outputs of its own. For a device that
 * is stuck and may go on to read and write what the old one points to: it gets the old one for
 * good, and the inputs, which both share, are never freed. NULL: no memory. */
bm_ingest_batch *bm_ingest_batch_replace(const bm_ingest_batch *batch);

/* The share of batches, and who holds how much of it. */
typedef struct bm_ingest_shares {
    uint64_t all;   /* bytes; 0: no limit */
    uint64_t batch; /* of a batch like others */
    uint64_t taken; /* of batches with long documents, beyond that */
    uint64_t alone; /* 1 + the number of the batch that is alone; 0: none is */
} bm_ingest_shares;

/* A shard of the document table: on a line of the cache of its own. */
typedef struct bm_ingest_shard {
    _Alignas(BM_ALIGNMENT) atomic_uint_least64_t next; /* the batch that it gets next */
    atomic_bool busy;
} bm_ingest_shard;

typedef struct bm_ingest_order {
    const bm_ingest_cfg *cfg;
    bm_queue *queue; /* to the device workers: aborted by a failure; borrowed; NULL: none */
    /* Settle a batch that a device has signed; the lock of batch->turn.device is held, and given
     * back. */
    void (*settle)(const bm_ingest_cfg *cfg, bm_ingest_batch *batch);
    uint64_t window;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t moved; /* one of these moved, `stop` was set, or a device put a batch down */
    bm_ingest_batch **ring;
    uint64_t reserve;   /* the first that has no rows yet */
    uint64_t enter;     /* the first with rows that no thread has begun to enter */
    uint64_t next;      /* to deliver */
    uint64_t put;       /* the first that was delivered, and that no thread has put */
    uint64_t done;      /* so many are in no place any more */
    uint64_t unsettled; /* batches in the ring with turn.device */
    bool delivering, stop, put_failed;
    bool in_turn; /* nothing is reserved: after `next` is one batch that was not claimed or has no
                     rows, or the ingest pauses */
    bm_ingest_shares shares;
    bm_ingest_batch **free;
    size_t n_free;
    bm_status status; /* the first failure in input order */
    bm_error error;
    uint64_t failed;       /* the number of its batch; 0 too where it belongs to none */
    bm_ingest_times times; /* of the threads that have ended */
    /* Without the lock: */
    bm_ingest_shard *shards;
    atomic_uint_least64_t *ready; /* at n % window: 1 + n once batch n can go to the shards */
} bm_ingest_order;

/* `out` is good for close whatever the status. */
bm_status bm_ingest_order_open(const bm_ingest_cfg *cfg, uint64_t window, bm_ingest_order *out,
                               bm_error *err);
void bm_ingest_order_close(bm_ingest_order *order); /* frees the batches in it */
/* An empty batch; NULL: no memory. */
bm_ingest_batch *bm_ingest_order_new_batch(bm_ingest_order *order);
/* Wait until batch number `n` has a place in the ring; false: the ingest stops. */
bool bm_ingest_order_wait(bm_ingest_order *order, uint64_t n);
/* Batch number n, which is being read, needs `cost` of the share of batches, and has share->cost
 * already: wait until the rest is free. False: the ingest stops. */
bool bm_ingest_order_share(bm_ingest_order *order, uint64_t n, bm_ingest_share *share,
                           uint64_t cost);
/* Wait until all before batch number n, which is being read, is delivered; nothing after it is
 * read before it is delivered too. Batches without an owner are freed. */
bool bm_ingest_order_alone(bm_ingest_order *order, uint64_t n, bm_ingest_share *share);
/* Release the share of the batch that was being read and was dropped; it becomes {0}. */
void bm_ingest_order_release(bm_ingest_order *order, bm_ingest_share *share);
/* Put a finished batch down in its place, and leave the rest to others: for threads of devices. One
 * that has turn.device is settled by others too. */
void bm_ingest_order_place(bm_ingest_order *order, bm_ingest_batch *batch);
/* The same (NULL: there is none), then deliver and put what can be. */
void bm_ingest_order_deliver(bm_ingest_order *order, bm_ingest_batch *batch);
/* There are n batches in all: deliver and put until they are dealt with, or the ingest stops. */
void bm_ingest_order_finish(bm_ingest_order *order, uint64_t n);
/* The ingest ends with this failure of batch number n (0: of none), unless one before it has
 * failed. */
void bm_ingest_order_fail(bm_ingest_order *order, uint64_t n, bm_status status,
                          const bm_error *error);
/* A thread ends; its times are added. */
void bm_ingest_order_add_times(bm_ingest_order *order, const bm_ingest_times *times);
