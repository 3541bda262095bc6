/* flow_batch.h -- what happens to one batch between reading and delivery; used by flow.c only. */
#ifndef BM_PIPELINE_FLOW_BATCH_H
#define BM_PIPELINE_FLOW_BATCH_H

#include "pipeline/flow.h"
#include "text/shingler.h"

/* The scratch of one worker. */
typedef struct bm_flow_worker {
    const bm_flow_cfg *cfg;
    bm_parser *parser;
    bm_shingler *shingler;
    bm_flow_batch *batch; /* being filled by the parser's callback */
    size_t n_records;     /* of it that the parser has called back for */
    bm_distinct distinct; /* of `hashes` inputs */
} bm_flow_worker;

bm_status bm_flow_worker_open(const bm_flow_cfg *cfg, bm_flow_worker *out, bm_error *err);
void bm_flow_worker_close(bm_flow_worker *worker);

/* Parse and shingle what is not passed over; failures go to batch->status. */
void bm_flow_batch_parse(bm_flow_worker *worker, bm_flow_batch *batch);
/* Room for the outputs, and the task that asks for them. */
bm_status bm_flow_batch_task(const bm_flow_cfg *cfg, bm_flow_batch *batch, bm_error *err);
/* The ordered end: rows to the document table, counts, then the sink. */
bm_status bm_flow_batch_deliver(const bm_flow_cfg *cfg, bm_flow_batch *batch, bm_error *err);
void bm_flow_batch_clear(bm_flow_batch *batch); /* keeps its memory */
void bm_flow_batch_free(bm_flow_batch *batch);  /* NULL is fine */
/* The same batch to be signed anew, where a device that is stuck may still read and write what the
 * old one points to: with outputs of its own, while the inputs are shared and never freed. The old
 * one is left to the device. NULL: no memory. */
bm_flow_batch *bm_flow_batch_leave(const bm_flow_batch *batch);

#endif
