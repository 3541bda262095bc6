/* SPDX-License-Identifier: Apache-2.0 */
/* set_shingler.c -- adds a document given as hashes; drops repeated hashes, or makes them elements
 * of a bag.
 *
 * Tests: tests/unit/text/test_shingler.c, tests/unit/text/test_bag.c */
#include "text/set_shingler.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/shingle_ops.h"

/* Add the distinct hashes of a document. It has n hashes; n is not 0. */
static bm_status add_set(bm_set_shingler *shingler, const uint64_t *hashes, size_t n,
                         bm_distinct_list *list, bm_error *err)
{
    bm_distinct_begin(&shingler->distinct);
    return bm_distinct_add(&shingler->distinct, hashes, n, list, err);
}

/* Like add_set, for a bag. The batch must have space for n hashes. */
static bm_status add_bag(bm_set_shingler *shingler, const uint64_t *hashes, size_t n,
                         bm_distinct_list *list, bm_error *err)
{
    bm_distinct_list out = *list;
    BM_TRY(bm_grow_array(&shingler->counts, &shingler->cap_counts, n, err));
    out.counts = shingler->counts;
    BM_TRY(add_set(shingler, hashes, n, &out, err));
    list->n = out.n;
    return bm_repeats_add(&shingler->distinct, shingler->counts, list, err);
}

bm_status bm_shingle_set_add(bm_set_shingler *shingler, const uint64_t *hashes, size_t n,
                             bm_shingle_batch *batch, bm_error *err)
{
    BM_TRY(bm_shingle_batch_reserve(batch, 1, n, err));
    bm_hash128 content = {0};
    bm_distinct_list list = {0};
    bm_status status = BM_OK;
    if (n > 0) {
        const size_t first = bm_shingle_batch_hashes(batch);
        list.values = batch->hashes + first;
        list.counts = batch->counted ? batch->counts + first : NULL;
        status = shingler->bag ? add_bag(shingler, hashes, n, &list, err)
                               : add_set(shingler, hashes, n, &list, err);
        bm_content_sums sums = {0};
        bm_shingle_ops_of(shingler->isa)->add_content(hashes, n, 0, &sums);
        content = bm_content_with_second(bm_content_end(&sums, n),
                                         bm_hash64_of(shingler->isa)(hashes, n * sizeof *hashes));
    }
    if (status != BM_OK)
        return status;
    batch->n_empty += n == 0;
    bm_shingle_batch_commit(batch, list.n, content);
    return BM_OK;
}

void bm_set_shingler_reset(bm_set_shingler *shingler)
{
    bm_distinct_reset(&shingler->distinct);
    bm_free(shingler->counts);
    shingler->counts = NULL;
    shingler->cap_counts = 0;
}
