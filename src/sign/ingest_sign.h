/* ingest_sign.h -- signing a batch: on the native CPU, or by the thread of a device. */
#ifndef BM_INGEST_INGEST_SIGN_H
#define BM_INGEST_INGEST_SIGN_H

#include "sign/ingest_order.h"
#include "text/shingler.h"

/* Sign a batch that has a task on the native CPU, whatever its form. */
bm_status bm_ingest_sign_cpu(const bm_ingest_cfg *cfg, bm_ingest_batch *batch,
                             bm_shingler *shingler, bm_error *err);
/* The thread of one device: take batches from order->queue, keep as many of them on the device as
 * it likes, deliver each, until the queue is closed or aborted.
 *
 * A device that fails is closed, and its batches and all that come are signed on the CPU, or fail
 * with the device's error where the device was asked for (bm_device_set_worker_failed decides). */
void bm_ingest_device_run(bm_ingest_order *order, bm_device_worker *device);

#endif
