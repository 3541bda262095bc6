/* ingest_deliver.h -- the ordered end of the ingest, for one batch. */
#ifndef BM_INGEST_INGEST_DELIVER_H
#define BM_INGEST_INGEST_DELIVER_H

#include "sign/ingest_cfg.h"

/* Its rows and ids to the document table, its bad records to the list of skipped ones, its counts.
 * Ends with the batch's own status where that is no BM_OK. One batch at a time, in input order. */
bm_status bm_ingest_batch_deliver(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err);
/* What was delivered goes to the sink. Whether places move (bm_ingest_put) is asked between the two:
 * it depends on the document table. */
bm_status bm_ingest_batch_sink(const bm_ingest_cfg *cfg, const bm_ingest_batch *batch,
                               bm_error *err);

#endif
