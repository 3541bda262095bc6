/* ingest_batch.h -- a batch's memory, and the order to sign it. */
#ifndef BM_INGEST_INGEST_BATCH_H
#define BM_INGEST_INGEST_BATCH_H

#include "sign/ingest_cfg.h"

/* What was read and not parsed is given back. */
void bm_ingest_batch_drop_raw(const bm_ingest_cfg *cfg, bm_ingest_batch *batch);
/* Empty it, but keep its memory; free it all. Its raw batch has been dropped. */
void bm_ingest_batch_clear(bm_ingest_batch *batch);
void bm_ingest_batch_free(bm_ingest_batch *batch); /* NULL is fine */
/* Room for the outputs, and the task that asks for them. */
bm_status bm_ingest_batch_make_task(const bm_ingest_cfg *cfg, bm_ingest_batch *batch,
                                    bm_error *err);
/* The same documents in a new batch, to be signed anew with outputs of its own. For a device that
 * is stuck and may go on to read and write what the old one points to: the old one is left to it,
 * and the inputs, which both share, are never freed. NULL: no memory. */
bm_ingest_batch *bm_ingest_batch_leave_to_device(const bm_ingest_batch *batch);

#endif
