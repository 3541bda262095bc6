/* ingest_read.c -- how large batches are, and how far reading is. */
#include "pipeline/ingest/ingest_read.h"

#define HASHES_WITHOUT_DEVICE 65536u
#define BYTES_PER_HASH        6u /* of English text; only sizes batches */
#define BATCH_BYTES_MIN       (64u << 10)
#define BATCH_BYTES_MAX       (64u << 20)

static size_t batch_bytes(const bm_ingest_cfg *cfg, uint64_t window)
{
    size_t most = cfg->budget != NULL ? bm_budget_batch_bytes(cfg->budget, window) : SIZE_MAX;
    size_t hashes = cfg->device_set != NULL ? bm_device_set_batch_hashes(cfg->device_set) : 0;
    size_t bytes = hashes * BYTES_PER_HASH;
    if (bytes < BATCH_BYTES_MIN)
        bytes = hashes == 0 ? 8 * BATCH_BYTES_MIN : BATCH_BYTES_MIN;
    most = most < BATCH_BYTES_MAX ? most : BATCH_BYTES_MAX;
    return bytes > most ? most : bytes;
}

bm_status bm_ingest_read_begin(const bm_ingest_cfg *cfg, const bm_long_gate *gate, uint64_t window,
                               bm_error *err)
{
    const bm_batch_limits limits = {.bytes = batch_bytes(cfg, window),
                                    .hashes = cfg->device_set != NULL
                                                  ? bm_device_set_batch_hashes(cfg->device_set)
                                                  : HASHES_WITHOUT_DEVICE,
                                    .docs = cfg->batch_docs,
                                    .gate = gate,
                                    .places = cfg->places != NULL ? &cfg->places->check : NULL};
    return bm_batch_source_begin(cfg->source, &limits, cfg->skip_records, err);
}

bm_status bm_ingest_read_next(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_batch_got *got,
                              bm_error *err)
{
    bm_batch_next next;
    bm_status status = bm_batch_source_next(cfg->source, &next, err);
    *got = next.got;
    batch->raw = next.batch;
    batch->turn.bytes_read = next.bytes_read;
    if (next.batch != NULL)
        batch->turn.place = next.batch->place;
    if (status == BM_OK && next.got == BM_BATCH_PASSED)
        bm_meter_progress(cfg->meter, next.bytes_read, bm_batch_source_total_bytes(cfg->source),
                          cfg->docs->n);
    return status;
}
