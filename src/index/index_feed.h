/* SPDX-License-Identifier: Apache-2.0 */
/* index_feed.h -- documents of the inputs, gathered while those before them are being added.
 *
 *     ingest, on a thread of its own   -> [ filling ]   [ ready ] ->   the caller's thread, which
 *                                                                      alone writes to the index
 *
 * One is handed over when it is full; also when it is due, as long as it holds anything. */
#pragma once

#include "base/threads.h"
#include "job/job_context.h"
#include "sign/ingest_cfg.h"
#include "store/store_write.h"

/* index_gather -- documents of batches of the ingest, copied one after another until they are
 * worth a run of the index.
 *
 * One thread at a time. */

/* The parts of each document that are gathered. */
typedef struct bm_gather_shape {
    bool sets;             /* shingle hashes; else words */
    uint32_t bands, words; /* as the facts of the index: keys, and uints of words */
    uint32_t word_bytes;   /* of the words: 4 or 8 */
    bool unsorted;         /* sets stay as they came: not all are wanted in order */
    uint32_t first_input;  /* the number of file 0 of the inputs; UINT32_MAX: no document has a
                            * file */
} bm_gather_shape;

/* Room of the arrays below. */
typedef struct bm_gather_caps {
    size_t docs, sets, hashes, words, keys;
} bm_gather_caps;

typedef struct bm_gathered {
    size_t n;
    bm_store_doc *docs;    /* ids and sets are filled in when the batch is finished */
    bm_buf ids;            /* one after another */
    uint64_t *hashes;      /* likewise; the hashes of each document are then sorted */
    const uint64_t **sets; /* of each document, once the batch is finished */
    uint32_t *words;
    uint64_t *keys;
    size_t n_hashes;
    bm_gather_caps caps;
    uint64_t input_bytes;   /* of texts, or of hashes */
    uint64_t records;       /* of the inputs, up to the end of the last document */
    bm_content_place place; /* after it */
    bool broken;            /* what came after failed, and the last documents are not signed */
} bm_gathered;              /* {0} is empty */

/* Room for n documents, but not for their hashes. BM_ERR_NOMEM. */
bm_status bm_gathered_reserve(bm_gathered *g, const bm_gather_shape *shape, size_t n,
                              bm_error *err);
/* Nothing more is added: sort the sets on all threads, unless they are to stay unsorted, and make
 * documents and `sets` point to their own data. */
bm_status bm_gathered_finish(bm_gathered *g, const bm_gather_shape *shape, bm_pool *pool,
                             bm_error *err);
/* Leave out the documents for which stays[i] is false: those after them move up. */
void bm_gathered_drop(bm_gathered *g, const bm_gather_shape *shape, const bool *stays);
void bm_gathered_clear(bm_gathered *g); /* in the same memory */
void bm_gathered_reset(bm_gathered *g); /* frees */

/* Called in input order on the caller's thread. The batch is finished, and the callee may change
 * it. */
typedef bm_status (*bm_feed_fn)(void *ctx, bm_gathered *gathered, bm_error *err);

typedef struct bm_index_feed {
    bm_job_context *job; /* its inputs and devices are open */
    bm_gather_shape shape;
    uint64_t full_bytes; /* that one may hold, of the job's memory */
    uint64_t full_input; /* bytes of input in it */
    /* When what there is is handed over (bm_clock_seconds): read while nothing is being added.
     * NULL: when it is full. */
    const double *due;
    bm_feed_fn sink;
    void *sink_ctx;
} bm_index_feed;

/* Read all inputs. Returns the failure of reading, unless `sink` fails on something that was read
 * earlier. */
bm_status bm_index_feed_run(bm_index_feed *feed, bm_error *err);
