/* SPDX-License-Identifier: Apache-2.0 */
/* index_feed.h -- reads documents and gathers them into a batch, while the previous batch is being
 * added.
 *
 *     ingest, on a thread of its own   -> [ filling ]   [ ready ] ->   the caller's thread, which
 *                                                                      alone writes to the index
 *
 * A batch is handed over when it is full, or, unless it is empty, when the next commit is due
 * (bm_index_feed.due). At the end, the rest is handed over. */
#pragma once

#include "base/threads.h"
#include "job/job_context.h"
#include "sign/ingest_cfg.h"
#include "store/store_write.h"

/* index_gather -- copies documents from the batches of the ingest into larger batches. A larger
 * batch is added to an index, or looked up in one, as a whole.
 *
 * Used by one thread at a time. */

/* Which data of each document are gathered. */
typedef struct bm_gather_shape {
    /* true: gather the shingle hashes; false: gather the words of the signatures */
    bool sets;
    uint32_t bands, words; /* number of bands, and of 32-bit words in a signature, as in the facts
                              of the index */
    uint32_t word_bytes;   /* bytes of a value of a signature: 4, or 8 (two words) */
    bool unsorted;         /* do not sort the sets, because only some of them will be needed in
                              order */
    uint32_t first_input;  /* the number of input file 0; UINT32_MAX: files are not recorded */
} bm_gather_shape;

/* Capacities of the arrays below. */
typedef struct bm_gather_caps {
    size_t docs, sets, hashes, words, keys;
} bm_gather_caps;

typedef struct bm_gathered {
    size_t n;
    bm_store_doc *docs;    /* ids are filled in when the batch is finished */
    bm_buf ids;            /* the texts of all ids, one after another */
    uint64_t *hashes;      /* the hashes of all documents, one after another; bm_gathered_finish
                              sorts those of each document */
    const uint64_t **sets; /* for each document, its hashes; filled in when the batch is finished */
    uint32_t *words;
    uint64_t *keys;
    size_t n_hashes;
    bm_gather_caps caps;
    uint64_t input_bytes;   /* bytes of texts, or of signatures */
    uint64_t records;       /* number of records read up to the last document */
    bm_content_place place; /* position in the inputs after the last document */
    bool broken;            /* reading failed, and the last documents of the batch are unsigned */
} bm_gathered;              /* {0} is empty */

/* Make room for n documents, without their hashes. BM_ERR_NOMEM. */
bm_status bm_gathered_reserve(bm_gathered *g, const bm_gather_shape *shape, size_t n,
                              bm_error *err);
/* Finish the batch: set the pointers to the ids and sets of the documents. Unless shape->unsorted
 * is set, sort the sets on all threads. */
bm_status bm_gathered_finish(bm_gathered *g, const bm_gather_shape *shape, bm_pool *pool,
                             bm_error *err);
/* Remove the documents for which stays[i] is false; later documents move up. */
void bm_gathered_drop(bm_gathered *g, const bm_gather_shape *shape, const bool *stays);
void bm_gathered_clear(bm_gathered *g); /* keeps the memory */
void bm_gathered_reset(bm_gathered *g); /* frees */

/* Receives the batches, in input order, on the thread that called bm_index_feed_run. The batch is
 * finished (bm_gathered_finish); the function may change it. */
typedef bm_status (*bm_feed_fn)(void *ctx, bm_gathered *gathered, bm_error *err);

typedef struct bm_index_feed {
    bm_job_context *job; /* a job with open inputs and devices */
    bm_gather_shape shape;
    uint64_t full_bytes; /* a batch that takes this much memory is full */
    uint64_t full_input; /* a batch from this many bytes of input is full */
    /* The time (bm_clock_seconds) at which a batch is handed over even if it is not full. This time
     * is read only while no batch is being added, so `sink` may change it. NULL: batches are handed
     * over when full, and at the end. */
    const double *due;
    bm_feed_fn sink;
    void *sink_ctx;
} bm_index_feed;

/* Read all inputs. Returns the status of `sink` if `sink` failed, else the status of reading. */
bm_status bm_index_feed_run(bm_index_feed *feed, bm_error *err);
