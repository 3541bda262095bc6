/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "model/batches.h"

static void add(bm_shingle_batch *batch, size_t n, uint64_t base)
{
    cr_assert_eq(bm_shingle_batch_reserve(batch, 1, n, NULL), BM_OK);
    size_t begin = bm_shingle_batch_hashes(batch);
    for (size_t i = 0; i < n; i++)
        batch->hashes[begin + i] = base + i;
    batch->content[batch->n_docs] = (bm_hash128){base, n};
    batch->n_docs++;
    batch->offsets[batch->n_docs] = begin + n;
}

Test(shingle_batch, documents_keep_their_hashes_while_the_batch_grows)
{
    bm_shingle_batch batch = {0};
    for (uint64_t d = 0; d < 3000; d++)
        add(&batch, (size_t)(d % 7), d * 100);
    cr_assert_eq(batch.n_docs, 3000);
    for (uint64_t d = 0; d < 3000; d++) {
        cr_assert_eq(batch.offsets[d + 1] - batch.offsets[d], d % 7);
        cr_assert_eq(batch.content[d].lo, d * 100);
        for (uint64_t i = 0; i < d % 7; i++)
            cr_assert_eq(batch.hashes[batch.offsets[d] + i], d * 100 + i);
    }
    bm_shingle_batch_reset(&batch);
}

Test(shingle_batch, a_cleared_batch_is_empty_and_begins_at_zero)
{
    bm_shingle_batch batch = {0};
    cr_assert_eq(bm_shingle_batch_hashes(&batch), 0);
    add(&batch, 5, 1);
    bm_shingle_batch_clear(&batch);
    cr_assert_eq(bm_shingle_batch_hashes(&batch), 0);
    add(&batch, 2, 9);
    cr_assert_eq(batch.offsets[0], 0);
    cr_assert_eq(batch.hashes[0], 9);
    bm_shingle_batch_reset(&batch);
}
