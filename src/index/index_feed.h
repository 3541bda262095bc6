/* index_feed.h -- documents of the inputs, gathered while those before them are being added.
 *
 *     ingest, on a thread of its own   -> [ filling ]   [ ready ] ->  the caller's thread, which alone
 *                                                                     writes to the index
 *
 * One is handed over when it is full; also when it is due, as long as it holds anything. */
#ifndef BM_INDEX_INDEX_FEED_H
#define BM_INDEX_INDEX_FEED_H

#include "job/job_context.h"
#include "index/index_gather.h"

/* Called in input order on the caller's thread. The documents are settled, the callee may change
 * them. */
typedef bm_status (*bm_feed_fn)(void *ctx, bm_gathered *gathered, bm_error *err);

typedef struct bm_index_feed {
    bm_job_context *job; /* its inputs and devices are open */
    bm_gather_shape shape;
    uint64_t full_bytes; /* that one may hold, of the job's memory */
    uint64_t full_input; /* bytes of input in it */
    /* When what there is is handed over (bm_clock_seconds): read while nothing is being added. NULL: when it is
     * full. */
    const double *due;
    bm_feed_fn take;
    void *take_ctx;
} bm_index_feed;

/* Read all inputs. What reading fails with, unless `take` fails on what was read before it. */
bm_status bm_index_feed_run(bm_index_feed *feed, bm_error *err);

#endif
