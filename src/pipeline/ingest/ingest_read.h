/* ingest_read.h -- the flow's inputs, a batch at a time, and what of them an earlier run has had
 * already; used by ingest.c only.
 *
 * The first `skip_records` records are read, so that the digests of the inputs come out, and
 * counted, but not parsed. Where they end in the middle of a batch, the batch says how many of its
 * records are to be passed over.
 *
 * Threads: one at a time, under the reader's lock. */
#ifndef BM_INGEST_INGEST_READ_H
#define BM_INGEST_INGEST_READ_H

#include "pipeline/ingest/ingest.h"

typedef struct bm_batch_source {
    const bm_ingest_cfg *cfg;
    bm_reader *reader;   /* NULL: cfg->hashes */
    bm_parser *splitter; /* finds the bounds of records to pass over; NULL: there are none */
    uint64_t left;       /* records still to pass over */
    uint64_t n_docs;     /* of `hashes` inputs: read so far */
} bm_batch_source;

typedef enum bm_ingest_got {
    BM_INGEST_BATCH,  /* one to parse */
    BM_INGEST_PASSED, /* one that lies wholly in what is passed over: ask again */
    BM_INGEST_END
} bm_ingest_got;

/* `window`: batches that may exist at once. */
bm_status bm_batch_source_open(const bm_ingest_cfg *cfg, uint64_t window, bm_batch_source *out,
                               bm_error *err);
void bm_batch_source_close(bm_batch_source *source); /* {0} is fine */
/* Read the next batch into `batch`, which is empty, and is again after PASSED and END.
 * BM_ERR_FORMAT: the inputs end before what is to be passed over. */
bm_status bm_batch_source_next(bm_batch_source *source, bm_ingest_batch *batch, bm_ingest_got *got,
                               bm_error *err);

#endif
