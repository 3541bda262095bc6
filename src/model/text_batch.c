/* text_batch.c -- the memory of a batch of texts.
 *
 * Tests: tests/unit/text/test_unit_text.c */
#include "model/text_batch.h"

#include <string.h>

bool bm_text_batch_able(const bm_text_options *options)
{
    /* K words are at least K bytes and K - 1 blanks. */
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
