/* shingle_batch.c -- the growth of a batch's arrays. */
#include "model/shingle_batch.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

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
    batch->n_empty = batch->n_short = batch->n_weightless = 0;
    if (batch->offsets != NULL)
        batch->offsets[0] = 0;
}

void bm_shingle_batch_reset(bm_shingle_batch *batch)
{
    bm_free(batch->offsets);
    bm_free(batch->content);
    bm_free(batch->hashes);
    bm_free(batch->counts);
    bm_free(batch->weights);
    memset(batch, 0, sizeof *batch);
}
