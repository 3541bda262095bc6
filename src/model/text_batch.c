/* text_batch.c -- the memory of a batch of texts. */
#include "model/text_batch.h"

#include <string.h>

void bm_text_batch_clear(bm_text_batch *batch)
{
    batch->n_docs = batch->n_starts = batch->n_by_host = 0;
    batch->bytes.len = batch->host_bytes.len = 0;
    batch->n_empty = batch->n_short = 0;
}

void bm_text_batch_reset(bm_text_batch *batch)
{
    bm_free(batch->docs);
    bm_free(batch->slots);
    bm_free(batch->starts);
    bm_buf_reset(&batch->bytes);
    bm_buf_reset(&batch->host_bytes);
    memset(batch, 0, sizeof *batch);
}
