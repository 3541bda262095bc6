/* ingest.h -- from inputs to signed documents, on several threads, in input order.
 *
 *     source          one worker at a time reads the next raw batch
 *       |
 *     parse, shingle  on the worker that read it, while it is in cache
 *       |
 *     sign            on the same worker, or on a device by its device worker
 *       |
 *     ordered end     document table, then the job's sink: one batch at a time, in reading order,
 *       |             for places and counts
 *     put             on any thread, what the batch has goes to its places
 *
 * An early batch waits in a ring of `window` places, and the reading stops while the ring is full,
 * which bounds the memory. The first failure in input order is the one that is reported. */
#ifndef BM_INGEST_INGEST_H
#define BM_INGEST_INGEST_H

#include "sign/ingest_cfg.h"

/* BM_ERR_FORMAT: the inputs hold fewer than skip_records records. BM_ERR_CANCELLED, at the next
 * batch, passed over or not. Else what reading, parsing, signing and the sink end with. */
bm_status bm_ingest_run(const bm_ingest_cfg *cfg, bm_error *err);

#endif
