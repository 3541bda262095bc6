/* ingest_text.c -- see the header. Whichever way a batch goes, its rows, words and keys are the
 * same.
 *
 * A document with a shingle of more than BM_TEXT_SHINGLE_MAX bytes (a long line of base64, say)
 * comes back from the device as if it were empty, and is signed by the native CPU into its own row:
 * such documents are few, else the whole batch is hashed by the worker. */
#include "sign/ingest_text.h"

#include "base/error.h"

#define HOST_SHARE 8u /* more than this part of the bytes left to the host is too much: an eighth */

bool bm_ingest_text_pointless(const bm_ingest_batch *batch)
{
    return batch->text.host_bytes.len > batch->text.bytes.len / HOST_SHARE;
}

bm_status bm_ingest_text_hash(bm_ingest_batch *batch, bm_shingler *shingler, bm_error *err)
{
    bm_shingle_batch_clear(&batch->shingles);
    for (size_t i = 0; i < batch->n_docs; i++) {
        BM_TRY(bm_unit_text_hash(shingler, &batch->text, i, &batch->shingles, err));
        batch->docs[i].row.n_shingles = bm_shingle_batch_last(&batch->shingles);
    }
    batch->as_text = false;
    return BM_OK;
}

/* Hash and sign a document that was left to the host. */
static bm_status sign_one(bm_device_set *device_set, bm_ingest_batch *batch, size_t doc,
                          bm_shingler *shingler, bm_error *err)
{
    bm_shingle_batch *shingles = &batch->shingles;
    BM_TRY(bm_unit_text_hash(shingler, &batch->text, doc, shingles, err));
    const bm_sign_task *all = &batch->task;
    bm_sign_task task = {.offsets = shingles->offsets + shingles->n_docs - 1,
                         .hashes = shingles->hashes,
                         .n_docs = 1,
                         .words =
                             all->words == NULL ? NULL : all->words + doc * device_set->row_uints,
                         .keys = all->keys == NULL ? NULL : all->keys + doc * device_set->bands};
    batch->docs[doc].row.n_shingles = bm_shingle_batch_last(shingles);
    if (all->content != NULL)
        all->content[doc] = shingles->content[shingles->n_docs - 1];
    return bm_device_set_sign_cpu(device_set, &task, err);
}

bm_status bm_ingest_text_finish(bm_device_set *device_set, bm_ingest_batch *batch,
                                bm_shingler *shingler, bm_error *err)
{
    for (size_t i = 0; i < batch->n_docs; i++) {
        batch->docs[i].row.n_shingles = batch->made.n_shingles[i];
        if (batch->text.docs[i].by_host)
            BM_TRY(sign_one(device_set, batch, i, shingler, err));
    }
    return BM_OK;
}
