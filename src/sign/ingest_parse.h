/* ingest_parse.h -- a worker's own: from a raw batch to documents with their shingles. */
#ifndef BM_INGEST_INGEST_PARSE_H
#define BM_INGEST_INGEST_PARSE_H

#include "sign/ingest_cfg.h"
#include "sign/ingest_entries.h"
#include "text/set_shingler.h"
#include "text/shingler.h"

/* The scratch of one worker. */
typedef struct bm_ingest_worker {
    const bm_ingest_cfg *cfg;
    bm_batch_parser *parser;
    bm_shingler *shingler;  /* NULL where the source has no texts */
    bm_set_shingler sets;   /* of shingle hashes that were read */
    bm_ingest_batch *batch; /* being filled by the parser's callback */
    bm_ingest_entries entries;
    size_t joined; /* 1 + the document that is joined and not yet hashed; 0: there is none */
    uint64_t joined_entry; /* of its record */
} bm_ingest_worker;

bm_status bm_ingest_worker_open(const bm_ingest_cfg *cfg, bm_ingest_worker *out, bm_error *err);
void bm_ingest_worker_close(bm_ingest_worker *worker);
/* Parse and shingle the batch; failures go to batch->status. */
void bm_ingest_batch_parse(bm_ingest_worker *worker, bm_ingest_batch *batch);

#endif
