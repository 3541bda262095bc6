/* ingest_read.c -- how large batches are, and how far reading is. */
#include "sign/ingest_read.h"

#define HASHES_WITHOUT_DEVICE 65536u
#define BYTES_PER_HASH        6u /* of English text; only sizes batches */
#define BATCH_BYTES_MIN       (64u << 10)
#define BATCH_BYTES_MAX       (2u << 20) /* a larger one costs its page faults each time */
#define REASON_BYTES          256u

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

/* What one document takes in a batch beside its text and hashes. A bad record takes its reason, which
 * may be as much. */
static uint64_t doc_bytes(const bm_ingest_cfg *cfg)
{
    uint64_t bytes = sizeof(bm_ingest_doc) + sizeof(uint64_t) + sizeof(bm_hash128);
    if (cfg->device_set != NULL && cfg->want_words)
        bytes += cfg->device_set->row_uints * sizeof(uint32_t);
    if (cfg->device_set != NULL && cfg->want_keys)
        bytes += cfg->device_set->bands * sizeof(uint64_t);
    return bytes < REASON_BYTES ? REASON_BYTES : bytes;
}

/* Documents in a batch at most; 0: any number. */
static uint32_t batch_docs(const bm_ingest_cfg *cfg, uint64_t window, size_t bytes)
{
    uint32_t most = cfg->budget != NULL
                        ? bm_budget_batch_docs(cfg->budget, window, bytes, doc_bytes(cfg))
                        : UINT32_MAX;
    if (cfg->batch_docs != 0 && cfg->batch_docs < most)
        return cfg->batch_docs;
    return most < bytes ? most : cfg->batch_docs; /* none is shorter than a byte */
}

bm_status bm_ingest_read_begin(const bm_ingest_cfg *cfg, const bm_long_gate *gate, uint64_t window,
                               bm_error *err)
{
    const size_t bytes = batch_bytes(cfg, window);
    const bm_batch_limits limits = {.bytes = bytes,
                                    .hashes = cfg->device_set != NULL
                                                  ? bm_device_set_batch_hashes(cfg->device_set)
                                                  : HASHES_WITHOUT_DEVICE,
                                    .docs = batch_docs(cfg, window, bytes),
                                    .gate = gate,
                                    .helped = true,
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
                          cfg->counts->documents);
    return status;
}
