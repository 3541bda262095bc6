/* SPDX-License-Identifier: Apache-2.0 */
/* batches.c -- grows and empties batches of shingle hashes and of texts.
 *
 * Tests: tests/unit/model/test_shingle_batch.c, tests/unit/text/test_unit_text.c */
#include "model/batches.h"

#include <string.h>

#include "base/error.h"

bm_status bm_shingle_batch_reserve(bm_shingle_batch *batch, size_t more_docs, size_t more_hashes,
                                   bm_error *err)
{
    size_t docs = batch->n_docs + more_docs;
    if (docs + 1 > batch->cap_docs) {
        size_t cap = batch->cap_docs;
        bm_status status = bm_grow_array(&batch->offsets, &cap, docs + 1, err);
        if (status != BM_OK)
            return status;
        batch->offsets[batch->n_docs] = bm_shingle_batch_hashes(batch);
        bm_hash128 *content = bm_resize(batch->content, cap, sizeof *content);
        if (content == NULL)
            return bm_fail_nomem(err, cap * sizeof *content);
        batch->content = content;
        batch->cap_docs = cap;
    }
    const size_t hashes = bm_shingle_batch_hashes(batch) + more_hashes;
    bm_status status = bm_grow_array(&batch->hashes, &batch->cap_hashes, hashes, err);
    if (status == BM_OK && batch->counted)
        status = bm_grow_array(&batch->counts, &batch->cap_counts, hashes, err);
    return status;
}

void bm_shingle_batch_clear(bm_shingle_batch *batch)
{
    batch->n_docs = 0;
    batch->n_empty = batch->n_short = batch->n_unreadable = batch->n_weightless = 0;
    if (batch->offsets != NULL)
        batch->offsets[0] = 0;
}

void bm_shingle_batch_reset(bm_shingle_batch *batch)
{
    bm_free_all(batch->offsets, batch->content, batch->hashes, batch->counts, batch->weights);
    memset(batch, 0, sizeof *batch);
}

bool bm_text_batch_able(const bm_text_options *options)
{
    /* K words have at least K bytes and K - 1 blanks between them. */
    const uint32_t least =
        options->shingle == BM_SHINGLE_WORD ? 2 * options->shingle_k - 1 : options->shingle_k;
    const bool plain =
        options->shingle <= BM_SHINGLE_BYTE && !options->bag && options->weights == BM_WEIGHTS_NONE;
    return plain && options->shingle_k > 0 && options->shingle_k <= BM_TEXT_SHINGLE_MAX &&
           least <= BM_TEXT_SHINGLE_MAX;
}

void bm_text_batch_clear(bm_text_batch *batch)
{
    batch->n_docs = batch->n_starts = batch->n_by_host = 0;
    batch->bytes.len = batch->host_bytes.len = 0;
    batch->n_empty = batch->n_short = batch->n_unreadable = 0;
}

void bm_text_batch_reset(bm_text_batch *batch)
{
    bm_free_all(batch->docs, batch->slots, batch->starts);
    bm_buf_reset(&batch->bytes);
    bm_buf_reset(&batch->host_bytes);
    memset(batch, 0, sizeof *batch);
}
