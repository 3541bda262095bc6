/* ingest_batch.h -- what happens to one batch between reading and delivery; used by ingest.c only. */
#ifndef BM_INGEST_INGEST_BATCH_H
#define BM_INGEST_INGEST_BATCH_H

#include "pipeline/ingest/ingest.h"
#include "text/shingler.h"

/* The scratch of one worker. */
typedef struct bm_ingest_worker {
    const bm_ingest_cfg *cfg;
    bm_parser *parser;
    bm_shingler *shingler;
    bm_ingest_batch *batch; /* being filled by the parser's callback */
    size_t n_records;       /* of it that the parser has called back for */
    bm_distinct distinct;   /* of `hashes` inputs */
} bm_ingest_worker;

bm_status bm_ingest_worker_open(const bm_ingest_cfg *cfg, bm_ingest_worker *out, bm_error *err);
void bm_ingest_worker_close(bm_ingest_worker *worker);

/* Parse and shingle what is not passed over; failures go to batch->status. */
void bm_ingest_batch_parse(bm_ingest_worker *worker, bm_ingest_batch *batch);
/* Room for the outputs, and the task that asks for them. */
bm_status bm_ingest_batch_task(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err);
/* The ordered end: rows to the document table, counts, then the sink. */
bm_status bm_ingest_batch_deliver(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err);
void bm_ingest_batch_clear(bm_ingest_batch *batch); /* keeps its memory */
void bm_ingest_batch_free(bm_ingest_batch *batch);  /* NULL is fine */
/* The same batch to be signed anew, where a device that is stuck may still read and write what the
 * old one points to: with outputs of its own, while the inputs are shared and never freed. The old
 * one is left to the device. NULL: no memory. */
bm_ingest_batch *bm_ingest_batch_leave(const bm_ingest_batch *batch);

#endif
