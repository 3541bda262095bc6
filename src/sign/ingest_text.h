/* ingest_text.h -- batches that go to a device as texts: filled, checked, finished, or turned into
 * hashes after all. */
#ifndef BM_INGEST_INGEST_TEXT_H
#define BM_INGEST_INGEST_TEXT_H

#include "sign/ingest_cfg.h"
#include "text/unit_text.h"

/* Make hashes of all texts of the batch, which then is one of hashes: for the native CPU, or where
 * a device cannot take it. */
bm_status bm_ingest_text_hash(bm_ingest_batch *batch, bm_shingler *shingler, bm_error *err);
/* The device has done its part: counts of shingles to the rows, and the documents that were left to
 * the host are hashed and signed. */
bm_status bm_ingest_text_finish(bm_device_set *device_set, bm_ingest_batch *batch,
                                bm_shingler *shingler, bm_error *err);
/* Is so much of the batch left to the host that it had better hash it all? */
bool bm_ingest_text_pointless(const bm_ingest_batch *batch);

#endif
