/* ingest_parse.c -- see the header. A bad record ends the batch under `--on-error fail`: the
 * documents before it stay, since an earlier repeated id must be reported first.
 *
 * Tests: tests/unit/sign/test_ingest_read.c, tests/unit/sign/test_ingest_columns.c */
#include "sign/ingest_parse.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "sign/ingest_batch.h"
#include "sign/ingest_long.h"
#include "sign/ingest_text.h"

bm_status bm_ingest_worker_open(const bm_ingest_cfg *cfg, bm_ingest_worker *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->cfg = cfg;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_batch_parser_open(cfg->source, &out->parser, err));
    BM_TRY_OUT(bm_isa_choose(cfg->cpu, &out->sets.isa, err));
    out->sets.bag = cfg->text->bag;
    out->entries.most_bytes =
        bm_budget_kept(cfg->budget != NULL ? cfg->budget->total : 0, cfg->threads);
    if (cfg->source->ops->has_text)
        BM_TRY_OUT(bm_shingler_open(cfg->text, cfg->cpu, &out->shingler, err));
out:
    if (status != BM_OK)
        bm_ingest_worker_close(out);
    return status;
}

void bm_ingest_worker_close(bm_ingest_worker *worker)
{
    bm_batch_parser_close(worker->parser);
    bm_shingler_close(worker->shingler);
    bm_set_shingler_reset(&worker->sets);
    bm_ingest_entries_reset(&worker->entries);
    worker->parser = NULL;
    worker->shingler = NULL;
}

static bm_status add_doc(bm_ingest_batch *batch, const bm_doc_row *row, const bm_record *record,
                         bm_error *err)
{
    const bm_str id = record->id, keep_key = record->keep_key;
    BM_TRY(bm_grow(&batch->docs, &batch->room.docs, batch->n_docs + 1, sizeof *batch->docs, err));
    size_t begin = batch->ids.len;
    BM_TRY(bm_buf_add(&batch->ids, id.data, id.len, err));
    bm_ingest_doc *doc = &batch->docs[batch->n_docs++];
    doc->row = *row;
    doc->id_hash = XXH3_64bits(id.data, id.len);
    doc->id_begin = begin;
    doc->id_len = id.len;
    doc->keep_key_len = keep_key.len;
    return keep_key.len > 0 ? bm_buf_add(&batch->keep_keys, keep_key.data, keep_key.len, err)
                            : BM_OK;
}

static bm_status skip_record(bm_ingest_worker *worker, const bm_record *record, bm_error *err)
{
    bm_ingest_batch *batch = worker->batch;
    const bm_ingest_cfg *cfg = worker->cfg;
    if (cfg->input->on_error == BM_ON_ERROR_FAIL)
        return bm_fail_at(err, BM_ERR_INPUT, bm_batch_source_file(cfg->source, record->file),
                          record->line, "%s", record->reason);
    BM_TRY(bm_grow(&batch->skipped, &batch->room.skipped, batch->n_skipped + 1,
                   sizeof *batch->skipped, err));
    char *reason = bm_strdup(record->reason);
    if (reason == NULL)
        return bm_fail_nomem(err, strlen(record->reason));
    batch->skipped[batch->n_skipped++] =
        (bm_skipped){record->line, record->file, reason, record->n_behind};
    return BM_OK;
}

/* --- a batch that is alone (ingest_long.h) --- */

/* A document does not fit, if that is why the shingler has failed; `held` bytes of its record are
 * still held. */
static bm_status say_too_long(bm_ingest_worker *worker, const bm_ingest_doc *doc, uint64_t held,
                              bm_error *err)
{
    const uint64_t needed = bm_shingler_needed(worker->shingler);
    const bm_long_record record = {.file = bm_batch_source_file(worker->cfg->source, doc->row.file),
                                   .line = doc->row.line,
                                   .bytes = doc->row.text_bytes};
    return needed == 0 ? BM_ERR_NOMEM
                       : bm_ingest_long_refuse(worker->cfg, &worker->batch->turn.share, &record,
                                               needed + held, err);
}

/* Hash the document that was joined, if there is one; `held` bytes of its record are still held. */
static bm_status hash_joined(bm_ingest_worker *worker, uint64_t held, bm_error *err)
{
    bm_ingest_batch *batch = worker->batch;
    if (worker->joined == 0)
        return BM_OK;
    bm_ingest_doc *doc = &batch->docs[worker->joined - 1];
    worker->joined = 0;
    bm_shingler_limit(worker->shingler, bm_ingest_long_limit(&batch->turn.share, held));
    bm_status status = bm_shingler_add_last_joined(worker->shingler, &batch->shingles, err);
    if (status == BM_ERR_NOMEM)
        status = say_too_long(worker, doc, held, err);
    if (status == BM_OK) {
        doc->row.n_shingles = bm_shingle_batch_last(&batch->shingles);
        bm_ingest_entries_keep(&worker->entries, worker->joined_entry, &batch->shingles);
    }
    bm_shingler_limit(worker->shingler, 0);
    return status;
}

/* The text of a record, whose row was added last, becomes joined text; it is hashed when the record
 * is no longer held, or when another one follows. */
static bm_status join_alone(bm_ingest_worker *worker, const bm_record *record, bm_error *err)
{
    bm_ingest_batch *batch = worker->batch;
    const struct bm_joined *joined;
    const uint64_t held = bm_ingest_long_held(record->raw.len) + record->text.len;
    bm_shingler_limit(worker->shingler, bm_ingest_long_limit(&batch->turn.share, held));
    bm_status status = bm_shingler_join(worker->shingler, record->text, &joined, err);
    if (status == BM_ERR_NOMEM)
        return say_too_long(worker, &batch->docs[batch->n_docs - 1], held, err);
    worker->joined = batch->n_docs;
    worker->joined_entry = record->entry;
    return status;
}

/* The batch was parsed, and its record is no longer wanted. */
static void end_alone(bm_ingest_worker *worker)
{
    bm_ingest_batch *batch = worker->batch;
    bm_error error = {0};
    bm_set_shingler_reset(&worker->sets); /* of hashes that were read: no worker keeps it */
    bm_memory_trim();
    bm_status status = hash_joined(worker, 0, &error);
    bm_memory_trim();
    if (status == BM_OK || batch->status != BM_OK)
        return;
    batch->status = status;
    batch->error = error;
}

/* --- any batch --- */

/* Add the band keys of a document that brings no shingles: it is empty if it is in no bucket. */
static bm_status add_keys(bm_ingest_batch *batch, const uint64_t *keys, size_t n, bm_error *err)
{
    bm_shingle_batch *shingles = &batch->shingles;
    const size_t at = batch->n_docs * n;
    BM_TRY(bm_grow(&batch->keys, &batch->room.keys, at + n, sizeof *keys, err));
    BM_TRY(bm_shingle_batch_reserve(shingles, 1, 0, err));
    memcpy(batch->keys + at, keys, n * sizeof *keys);
    size_t n_none = 0;
    for (size_t i = 0; i < n; i++)
        n_none += keys[i] == BM_NO_BAND_KEY;
    const size_t doc = shingles->n_docs++;
    shingles->content[doc] = (bm_hash128){0};
    shingles->offsets[doc + 1] = shingles->offsets[doc];
    shingles->n_empty += n_none == n;
    return BM_OK;
}

/* Add the shingles of a document to the batch, or its text where a device will make them. */
static bm_status add_shingles(bm_ingest_worker *worker, const bm_record *record, bm_error *err)
{
    bm_ingest_batch *batch = worker->batch;
    if (batch->as_text)
        return bm_unit_text_add(worker->shingler, record->text, &batch->text, err);
    if (worker->shingler != NULL) {
        BM_TRY(bm_shingler_add(worker->shingler, record->text, &batch->shingles, err));
        bm_ingest_entries_keep(&worker->entries, record->entry, &batch->shingles);
        return BM_OK;
    }
    if (record->keys != NULL)
        return add_keys(batch, record->keys, worker->cfg->source->n_keys, err);
    return bm_shingle_set_add(&worker->sets, record->hashes, record->n_hashes, &batch->shingles,
                              err);
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    bm_ingest_worker *worker = ctx;
    if (record->bad)
        return skip_record(worker, record, err);
    bm_ingest_batch *batch = worker->batch;
    bool was_made = false;
    if (worker->joined != 0)
        BM_TRY(hash_joined(worker, bm_ingest_long_held(record->raw.len), err));
    if (record->entry != 0 && !batch->as_text)
        BM_TRY(bm_ingest_entries_add(&worker->entries, record->entry, &batch->shingles, &was_made,
                                     err));
    const bool joins = batch->turn.share.alone && worker->shingler != NULL && !was_made;
    if (!joins && !was_made)
        BM_TRY(add_shingles(worker, record, err));
    bm_doc_row row = {.line = record->line,
                      .text_bytes = record->text_bytes,
                      .file = record->file,
                      .n_shingles =
                          batch->as_text || joins ? 0 : bm_shingle_batch_last(&batch->shingles)};
    batch->n_invalid += record->n_invalid;
    bm_status status = add_doc(batch, &row, record, err);
    return status == BM_OK && joins ? join_alone(worker, record, err) : status;
}

/* Elements may be fewer afterwards. */
static void weigh(const bm_ingest_cfg *cfg, bm_ingest_batch *batch)
{
    const bm_shingle_batch *shingles = &batch->shingles;
    bm_error error = {0};
    bm_status status = cfg->weigh.fn(cfg->weigh.ctx, &batch->shingles, &error);
    if (status != BM_OK) {
        batch->status = status;
        batch->error = error;
    }
    for (size_t i = 0; status == BM_OK && i < batch->n_docs; i++)
        batch->docs[i].row.n_shingles = (uint32_t)(shingles->offsets[i + 1] - shingles->offsets[i]);
}

void bm_ingest_batch_parse(bm_ingest_worker *worker, bm_ingest_batch *batch)
{
    const bm_ingest_cfg *cfg = worker->cfg;
    worker->batch = batch;
    batch->text.options = *cfg->text;
    worker->joined = 0;
    batch->as_text = cfg->source->ops->has_text && cfg->device_set != NULL &&
                     cfg->device_set->path.taken && !batch->turn.share.alone &&
                     cfg->weigh.fn == NULL;
    batch->shingles.counted = cfg->weigh.fn != NULL;
    batch->status =
        bm_batch_parser_run(worker->parser, batch->raw, on_record, worker, &batch->error);
    if (batch->as_text && bm_ingest_text_pointless(batch)) {
        bm_error error = {0};
        bm_status status = bm_ingest_text_hash(batch, worker->shingler, &error);
        if (status != BM_OK) {
            batch->status = status;
            batch->error = error;
        }
    }
    bm_ingest_batch_drop_raw(cfg, batch);
    if (batch->turn.share.alone)
        end_alone(worker);
    if (cfg->weigh.fn != NULL && batch->status == BM_OK)
        weigh(cfg, batch);
}
