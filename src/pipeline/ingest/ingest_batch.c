/* ingest_batch.c -- the work on one batch. A bad record ends it under `--on-error fail`: the
 * documents before it stay, since an earlier repeated id must be reported first. */
#include "pipeline/ingest/ingest_batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "pipeline/ingest/ingest_text.h"

#define IDS_AHEAD 16u /* documents between fetching from the table of ids and looking */

bm_status bm_ingest_worker_open(const bm_ingest_cfg *cfg, bm_ingest_worker *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->cfg = cfg;
    if (cfg->hashes != NULL)
        return BM_OK;
    bm_status status = bm_parser_open(cfg->inputs, &out->parser, err);
    if (status == BM_OK)
        status = bm_shingler_open(cfg->text, cfg->cpu, &out->shingler, err);
    if (status != BM_OK)
        bm_ingest_worker_close(out);
    return status;
}

void bm_ingest_worker_close(bm_ingest_worker *worker)
{
    bm_parser_close(worker->parser);
    bm_shingler_close(worker->shingler);
    bm_distinct_reset(&worker->distinct);
    worker->parser = NULL;
    worker->shingler = NULL;
}

void bm_ingest_batch_clear(bm_ingest_batch *batch)
{
    bm_raw_batch_free(batch->raw);
    batch->raw = NULL;
    batch->hash_offsets.len = batch->hash_values.len = batch->ids.len = 0;
    for (size_t i = 0; i < batch->n_skipped; i++)
        bm_free(batch->skipped[i].reason);
    batch->n_docs = batch->n_skipped = batch->passed_over = 0;
    batch->n_invalid = 0;
    if (batch->left) { /* a device may read them for ever */
        memset(&batch->shingles, 0, sizeof batch->shingles);
        memset(&batch->text, 0, sizeof batch->text);
        batch->left = false;
    }
    bm_shingle_batch_clear(&batch->shingles);
    bm_text_batch_clear(&batch->text);
    batch->as_text = false;
    batch->status = BM_OK;
}

void bm_ingest_batch_free(bm_ingest_batch *batch)
{
    if (batch == NULL)
        return;
    bm_ingest_batch_clear(batch);
    bm_buf_reset(&batch->hash_offsets);
    bm_buf_reset(&batch->hash_values);
    bm_buf_reset(&batch->ids);
    bm_shingle_batch_reset(&batch->shingles);
    bm_text_batch_reset(&batch->text);
    bm_free(batch->n_shingles);
    bm_free(batch->docs);
    bm_free(batch->skipped);
    bm_free(batch->words);
    bm_free(batch->keys);
    bm_free(batch);
}

bm_ingest_batch *bm_ingest_batch_leave(const bm_ingest_batch *batch)
{
    bm_ingest_batch *other = bm_alloc(1, sizeof *other);
    if (other == NULL)
        return NULL;
    *other = *batch;
    other->words = NULL;
    other->keys = NULL;
    other->n_shingles = NULL;
    other->cap_words = other->cap_keys = other->cap_n_shingles = 0;
    other->left = true;
    return other;
}

/* --- parsing --- */

static bm_status add_doc(bm_ingest_batch *batch, const bm_doc_row *row, bm_str id, bm_error *err)
{
    void *docs = batch->docs;
    bm_status status =
        bm_grow(&docs, &batch->cap_docs, batch->n_docs + 1, sizeof *batch->docs, err);
    batch->docs = docs;
    size_t begin = batch->ids.len;
    if (status == BM_OK)
        status = bm_buf_add(&batch->ids, id.data, id.len, err);
    if (status != BM_OK)
        return status;
    bm_ingest_doc *doc = &batch->docs[batch->n_docs++];
    doc->row = *row;
    doc->id_hash = XXH3_64bits(id.data, id.len);
    doc->id_begin = begin;
    doc->id_len = id.len;
    return BM_OK;
}

static bm_status skip_record(bm_ingest_worker *worker, const bm_record *record, bm_error *err)
{
    bm_ingest_batch *batch = worker->batch;
    const bm_ingest_cfg *cfg = worker->cfg;
    if (!cfg->input->skip_errors)
        return bm_fail_at(err, BM_ERR_INPUT, bm_input_set_source(cfg->inputs, record->file)->name,
                          record->line, "%s", record->reason);
    void *skipped = batch->skipped;
    bm_status status =
        bm_grow(&skipped, &batch->cap_skipped, batch->n_skipped + 1, sizeof *batch->skipped, err);
    batch->skipped = skipped;
    if (status != BM_OK)
        return status;
    char *reason = bm_strdup(record->reason);
    if (reason == NULL)
        return bm_fail_nomem(err, strlen(record->reason));
    batch->skipped[batch->n_skipped++] =
        (bm_skipped){.line = record->line, .file = record->file, .reason = reason};
    return BM_OK;
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    bm_ingest_worker *worker = ctx;
    if (worker->n_records++ < worker->batch->passed_over)
        return BM_OK;
    if (record->bad)
        return skip_record(worker, record, err);
    bm_ingest_batch *batch = worker->batch;
    bm_status status = batch->as_text
                           ? bm_unit_text_add(worker->shingler, record->text, &batch->text, err)
                           : bm_shingler_add(worker->shingler, record->text, &batch->shingles, err);
    if (status != BM_OK)
        return status;
    bm_doc_row row = {.line = record->line,
                      .text_bytes = record->text_bytes,
                      .file = record->file,
                      .n_shingles = batch->as_text ? 0 : bm_shingle_batch_last(&batch->shingles)};
    batch->n_invalid += record->n_invalid;
    return add_doc(batch, &row, record->id, err);
}

static bm_status shingle_hashes(bm_ingest_worker *worker, bm_error *err)
{
    bm_ingest_batch *batch = worker->batch;
    const uint64_t *offsets = (const uint64_t *)(const void *)batch->hash_offsets.data;
    const uint64_t *hashes = (const uint64_t *)(const void *)batch->hash_values.data;
    size_t n = batch->hash_offsets.len / sizeof *offsets - 1;
    for (size_t i = batch->passed_over; i < n; i++) {
        char id[24];
        int len = snprintf(id, sizeof id, "%" PRIu64, batch->first_doc + i);
        size_t n_hashes = (size_t)(offsets[i + 1] - offsets[i]);
        bm_status status = bm_shingle_set_add(&worker->distinct, hashes + offsets[i], n_hashes,
                                              &batch->shingles, err);
        if (status != BM_OK)
            return status;
        bm_doc_row row = {.line = batch->first_doc + i + 1,
                          .text_bytes = n_hashes * sizeof *hashes,
                          .n_shingles = bm_shingle_batch_last(&batch->shingles)};
        status = add_doc(batch, &row, (bm_str){id, (size_t)len}, err);
        if (status != BM_OK)
            return status;
    }
    return BM_OK;
}

void bm_ingest_batch_parse(bm_ingest_worker *worker, bm_ingest_batch *batch)
{
    worker->batch = batch;
    worker->n_records = 0;
    batch->text.options = *worker->cfg->text;
    if (batch->raw != NULL) {
        batch->as_text = worker->cfg->device_set != NULL && worker->cfg->device_set->path.taken;
        batch->status = bm_parser_run(worker->parser, batch->raw, on_record, worker, &batch->error);
    } else {
        batch->status = shingle_hashes(worker, &batch->error);
    }
    if (batch->as_text && bm_ingest_text_pointless(batch)) {
        bm_error error = {0};
        bm_status status = bm_ingest_text_hash(batch, worker->shingler, &error);
        if (status != BM_OK) {
            batch->status = status;
            batch->error = error;
        }
    }
    bm_raw_batch_free(batch->raw);
    batch->raw = NULL;
}

/* --- signing and delivery --- */

bm_status bm_ingest_batch_task(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err)
{
    const bm_device_set *device_set = cfg->device_set;
    void *words = batch->words, *keys = batch->keys;
    bm_status status = BM_OK;
    if (cfg->want_words)
        status = bm_grow(&words, &batch->cap_words, batch->n_docs * device_set->perms_used,
                         sizeof *batch->words, err);
    batch->words = words;
    if (status == BM_OK && cfg->want_keys)
        status = bm_grow(&keys, &batch->cap_keys, batch->n_docs * device_set->bands,
                         sizeof *batch->keys, err);
    batch->keys = keys;
    void *n_shingles = batch->n_shingles;
    if (status == BM_OK && batch->as_text)
        status = bm_grow(&n_shingles, &batch->cap_n_shingles, batch->n_docs,
                         sizeof *batch->n_shingles, err);
    batch->n_shingles = n_shingles;
    const bool as_text = batch->as_text;
    batch->task = (bm_sign_task){.offsets = as_text ? batch->text.slots : batch->shingles.offsets,
                                 .hashes = as_text ? NULL : batch->shingles.hashes,
                                 .text = as_text ? &batch->text : NULL,
                                 .n_shingles = batch->n_shingles,
                                 .n_docs = batch->n_docs,
                                 .words = cfg->want_words ? batch->words : NULL,
                                 .keys = cfg->want_keys ? batch->keys : NULL};
    return status;
}

static bm_status deliver_skipped(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err)
{
    for (size_t i = 0; i < batch->n_skipped; i++) {
        bm_skipped *skipped = &batch->skipped[i];
        if (cfg->counts->skipped >= cfg->input->max_errors)
            return bm_fail_at(err, BM_ERR_INPUT,
                              bm_input_set_source(cfg->inputs, skipped->file)->name, skipped->line,
                              "%s (more than %" PRIu64 " bad records, see --max-errors)",
                              skipped->reason, cfg->input->max_errors);
        bm_status status = bm_doc_table_skip(cfg->docs, skipped, err);
        if (status != BM_OK)
            return status;
        skipped->reason = NULL; /* taken */
        cfg->counts->skipped++;
        cfg->counts->records++;
    }
    return BM_OK;
}

bm_status bm_ingest_batch_deliver(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err)
{
    size_t first_row = cfg->docs->n;
    uint64_t n_shingles = 0;
    for (size_t i = 0; i < batch->n_docs; i++) {
        const bm_ingest_doc *doc = &batch->docs[i];
        if (i + IDS_AHEAD < batch->n_docs)
            bm_doc_table_expect(cfg->docs, batch->docs[i + IDS_AHEAD].id_hash);
        n_shingles += doc->row.n_shingles;
        bm_str id = {batch->ids.data + doc->id_begin, doc->id_len};
        bm_status status =
            bm_doc_table_add(cfg->docs, &doc->row, (bm_doc_id){id, doc->id_hash},
                             bm_input_set_source(cfg->inputs, doc->row.file)->name, err);
        if (status != BM_OK)
            return status;
    }
    bm_status status = deliver_skipped(cfg, batch, err);
    if (status != BM_OK)
        return status;
    if (batch->status != BM_OK) {
        if (err != NULL)
            *err = batch->error;
        return batch->status;
    }
    bm_counts *counts = cfg->counts;
    counts->records += batch->n_docs;
    counts->documents += batch->n_docs;
    counts->empty += batch->shingles.n_empty + batch->text.n_empty;
    counts->short_docs += batch->shingles.n_short + batch->text.n_short;
    counts->invalid_utf8 += batch->n_invalid;
    counts->shingles += n_shingles;
    if (cfg->sink != NULL)
        status = cfg->sink(cfg->sink_ctx, batch, first_row, err);
    bm_meter_progress(cfg->meter, batch->bytes_read, bm_input_set_total_bytes(cfg->inputs),
                      cfg->docs->n);
    return status;
}
