/* ingest_read.c -- read a batch; count and drop it where an earlier run has had its records.
 *
 * To pass over a record its bounds are enough: the parser splits without parsing, and sees the same
 * records in the same order as when it parses (io/reader.h), so a count of them is a place in the
 * inputs whatever the size of batches was. Nothing is sought: the digest of an input is of all its
 * bytes, and a compressed one has to be read from its beginning anyhow. */
#include "pipeline/ingest/ingest_read.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define HASH_BATCH_DOCS 65536u
#define BYTES_PER_HASH  6u /* of English text; only sizes batches */
#define BATCH_BYTES_MIN (64u << 10)
#define BATCH_BYTES_MAX (64u << 20)

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

bm_status bm_batch_source_open(const bm_ingest_cfg *cfg, uint64_t window, bm_batch_source *out,
                               bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->cfg = cfg;
    out->left = cfg->skip_records;
    if (cfg->hashes != NULL)
        return BM_OK;
    bm_status status =
        bm_reader_open(cfg->inputs, batch_bytes(cfg, window), cfg->batch_docs, &out->reader, err);
    if (status == BM_OK && cfg->skip_records > 0)
        status = bm_parser_open(cfg->inputs, &out->splitter, err);
    return status;
}

void bm_batch_source_close(bm_batch_source *source)
{
    bm_parser_close(source->splitter);
    bm_reader_close(source->reader);
    source->splitter = NULL;
    source->reader = NULL;
}

/* `n` records were read: what of them is passed over? False: all. */
static bool pass_over(bm_batch_source *source, bm_ingest_batch *batch, uint64_t n)
{
    if (source->left >= n && source->left > 0) {
        source->left -= n;
        return false;
    }
    batch->passed_over = (size_t)source->left; /* less than n */
    source->left = 0;
    return true;
}

static bm_status next_hashes(bm_batch_source *source, bm_ingest_batch *batch, bm_ingest_got *got,
                             bm_error *err)
{
    const bm_ingest_cfg *cfg = source->cfg;
    const uint64_t *offsets, *hashes;
    size_t n;
    size_t max_docs = cfg->batch_docs != 0 ? cfg->batch_docs : HASH_BATCH_DOCS;
    size_t max_hashes =
        cfg->device_set != NULL ? bm_device_set_batch_hashes(cfg->device_set) : HASH_BATCH_DOCS;
    bm_status status =
        bm_hash_input_next(cfg->hashes, max_docs, max_hashes, &offsets, &hashes, &n, err);
    if (status != BM_OK)
        return status;
    batch->first_doc = source->n_docs;
    source->n_docs += n;
    *got = n == 0                        ? BM_INGEST_END
           : pass_over(source, batch, n) ? BM_INGEST_BATCH
                                         : BM_INGEST_PASSED;
    if (*got != BM_INGEST_BATCH)
        return BM_OK;
    status = bm_buf_add(&batch->hash_offsets, offsets, (n + 1) * sizeof *offsets, err);
    if (status == BM_OK)
        status = bm_buf_add(&batch->hash_values, hashes, (size_t)offsets[n] * sizeof *hashes, err);
    return status;
}

static bm_status count_record(void *ctx, const bm_record *record, bm_error *err)
{
    (void)err;
    uint64_t *n = ctx;
    *n += !record->is_header;
    return BM_OK;
}

static bm_status next_raw(bm_batch_source *source, bm_ingest_batch *batch, bm_ingest_got *got,
                          bm_error *err)
{
    uint64_t n = 0;
    bm_status status = bm_reader_next(source->reader, &batch->raw, err);
    *got = batch->raw == NULL ? BM_INGEST_END : BM_INGEST_BATCH;
    if (status != BM_OK || batch->raw == NULL)
        return status;
    batch->bytes_read = batch->raw->bytes_read;
    if (source->left == 0)
        return BM_OK;
    status = bm_parser_split(source->splitter, batch->raw, count_record, &n, err);
    if (status != BM_OK || pass_over(source, batch, n))
        return status;
    *got = BM_INGEST_PASSED;
    bm_raw_batch_free(batch->raw);
    batch->raw = NULL;
    return BM_OK;
}

bm_status bm_batch_source_next(bm_batch_source *source, bm_ingest_batch *batch, bm_ingest_got *got,
                               bm_error *err)
{
    const bm_ingest_cfg *cfg = source->cfg;
    bm_status status = cfg->hashes != NULL ? next_hashes(source, batch, got, err)
                                           : next_raw(source, batch, got, err);
    if (status == BM_OK && *got == BM_INGEST_END && source->left > 0)
        return bm_fail(err, BM_ERR_FORMAT,
                       "the inputs hold fewer records than were read before (%" PRIu64
                       " of %" PRIu64 ")",
                       cfg->skip_records - source->left, cfg->skip_records);
    if (status == BM_OK && *got == BM_INGEST_PASSED)
        bm_meter_progress(cfg->meter, batch->bytes_read, bm_input_set_total_bytes(cfg->inputs),
                          cfg->docs->n);
    return status;
}
