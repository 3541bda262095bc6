/* ingest_read.h -- the source of an ingest, a batch at a time. One thread at a time. */
#ifndef BM_INGEST_INGEST_READ_H
#define BM_INGEST_INGEST_READ_H

#include "sign/ingest_cfg.h"

/* Begin to read, in batches that suit the devices and the budget; `window` of them may exist at
 * once; `gate` is asked about longer documents, and borrowed until the end. bm_batch_source_end ends it. */
bm_status bm_ingest_read_begin(const bm_ingest_cfg *cfg, const bm_long_gate *gate, uint64_t window,
                               bm_error *err);
/* Read the next batch into `batch`, which is empty, and is again where *got is not READ.
 * BM_ERR_FORMAT: the inputs end before what is to be passed over. */
bm_status bm_ingest_read_next(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_batch_got *got,
                              bm_error *err);

#endif
