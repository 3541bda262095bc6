/* ingest_batch.c -- see the header.
 *
 * Tests: tests/unit/sign/test_ingest_read.c */
#include "sign/ingest_batch.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

void bm_ingest_batch_drop_raw(const bm_ingest_cfg *cfg, bm_ingest_batch *batch)
{
    bm_batch_source_free_batch(cfg->source, batch->raw);
    batch->raw = NULL;
}

void bm_ingest_batch_clear(bm_ingest_batch *batch)
{
    batch->ids.len = 0;
    batch->keep_keys.len = 0;
    for (size_t i = 0; i < batch->n_skipped; i++)
        bm_free(batch->skipped[i].reason);
    batch->n_docs = batch->n_skipped = 0;
    batch->n_invalid = 0;
    if (batch->shared_with_device) {
        memset(&batch->shingles, 0, sizeof batch->shingles);
        memset(&batch->text, 0, sizeof batch->text);
        batch->shared_with_device = false;
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
    bm_buf_reset(&batch->ids);
    bm_buf_reset(&batch->keep_keys);
    bm_shingle_batch_reset(&batch->shingles);
    bm_text_batch_reset(&batch->text);
    bm_free(batch->made.n_shingles);
    bm_free(batch->made.content);
    bm_free(batch->docs);
    bm_free(batch->skipped);
    bm_free(batch->words);
    bm_free(batch->keys);
    bm_free(batch);
}

bm_status bm_ingest_batch_make_task(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err)
{
    const bm_device_set *device_set = cfg->device_set;
    const bool as_text = batch->as_text;
    bm_status status = BM_OK;
    if (cfg->want_words)
        BM_TRY_OUT(bm_grow(&batch->words, &batch->room.words, batch->n_docs * device_set->row_uints,
                           sizeof *batch->words, err));
    if (cfg->want_keys)
        BM_TRY_OUT(bm_grow(&batch->keys, &batch->room.keys, batch->n_docs * device_set->bands,
                           sizeof *batch->keys, err));
    if (as_text)
        BM_TRY_OUT(bm_grow(&batch->made.n_shingles, &batch->room.n_shingles, batch->n_docs,
                           sizeof *batch->made.n_shingles, err));
    if (as_text)
        BM_TRY_OUT(bm_grow(&batch->made.content, &batch->room.content, batch->n_docs,
                           sizeof *batch->made.content, err));
out:
    batch->task = (bm_sign_task){.offsets = as_text ? batch->text.slots : batch->shingles.offsets,
                                 .hashes = as_text ? NULL : batch->shingles.hashes,
                                 .weights = as_text ? NULL : batch->shingles.weights,
                                 .text = as_text ? &batch->text : NULL,
                                 .n_shingles = batch->made.n_shingles,
                                 .content = as_text ? batch->made.content : NULL,
                                 .n_docs = batch->n_docs,
                                 .words = cfg->want_words ? batch->words : NULL,
                                 .keys = cfg->want_keys ? batch->keys : NULL};
    return status;
}

bm_ingest_batch *bm_ingest_batch_leave_to_device(const bm_ingest_batch *batch)
{
    bm_ingest_batch *other = bm_alloc(1, sizeof *other);
    if (other == NULL)
        return NULL;
    *other = *batch;
    other->words = NULL;
    other->keys = NULL;
    other->made = (bm_ingest_made){0};
    other->room.words = other->room.keys = other->room.n_shingles = other->room.content = 0;
    other->shared_with_device = true;
    return other;
}
