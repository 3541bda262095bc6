/* flow_read.h -- the flow's inputs, a batch at a time, and what of them an earlier run has had
 * already; used by flow.c only.
 *
 * The first `skip_records` records are read, so that the digests of the inputs come out, and
 * counted, but not parsed. Where they end in the middle of a batch, the batch says how many of its
 * records are to be passed over.
 *
 * Threads: one at a time, under the reader's lock. */
#ifndef BM_PIPELINE_FLOW_READ_H
#define BM_PIPELINE_FLOW_READ_H

#include "pipeline/flow.h"

typedef struct bm_flow_source {
    const bm_flow_cfg *cfg;
    bm_reader *reader;   /* NULL: cfg->hashes */
    bm_parser *splitter; /* finds the bounds of records to pass over; NULL: there are none */
    uint64_t left;       /* records still to pass over */
    uint64_t n_docs;     /* of `hashes` inputs: read so far */
} bm_flow_source;

typedef enum bm_flow_got {
    BM_FLOW_BATCH,  /* one to parse */
    BM_FLOW_PASSED, /* one that lies wholly in what is passed over: ask again */
    BM_FLOW_END
} bm_flow_got;

/* `window`: batches that may exist at once. */
bm_status bm_flow_source_open(const bm_flow_cfg *cfg, uint64_t window, bm_flow_source *out,
                              bm_error *err);
void bm_flow_source_close(bm_flow_source *source); /* {0} is fine */
/* Read the next batch into `batch`, which is empty, and is again after PASSED and END.
 * BM_ERR_FORMAT: the inputs end before what is to be passed over. */
bm_status bm_flow_source_next(bm_flow_source *source, bm_flow_batch *batch, bm_flow_got *got,
                              bm_error *err);

#endif
