/* group.c -- bm_group_components and bm_group_stars: from a list of pairs to groups.
 *
 * What comes in is checked before the labels are touched; the rest is done by lsh/union_find.h and
 * lsh/stars.h.
 *
 * Pure functions; any thread. */
#include "inmem/group.h"

#include "base/error.h"
#include "base/memory.h"
#include "lsh/stars.h"
#include "lsh/union_find.h"

static bm_status check_pairs(bm_pair_list list, bm_error *err)
{
    if (list.n_docs > BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%zu documents are too many (at most %u)", list.n_docs,
                       BM_DOCS_MAX);
    for (size_t i = 0; i < list.n; i++)
        if (list.pairs[i].a >= list.n_docs || list.pairs[i].b >= list.n_docs)
            return bm_fail(err, BM_ERR_INPUT,
                           "pair %zu joins documents %u and %u (there are %zu, from 0)", i,
                           list.pairs[i].a, list.pairs[i].b, list.n_docs);
    return BM_OK;
}

bm_status bm_group_components(bm_pair_list list, uint32_t *labels, bm_error *err)
{
    bm_union_find sets;
    BM_TRY(check_pairs(list, err));
    BM_TRY(bm_union_find_init(&sets, list.n_docs, err));
    for (size_t i = 0; i < list.n; i++)
        bm_union_find_link(&sets, list.pairs[i].a, list.pairs[i].b);
    for (size_t doc = 0; doc < list.n_docs; doc++)
        labels[doc] = bm_union_find_root(&sets, (uint32_t)doc);
    bm_union_find_reset(&sets);
    return BM_OK;
}

static bm_status check_order(const uint32_t *order, size_t n_docs, bm_error *err)
{
    if (order == NULL)
        return BM_OK;
    uint8_t *seen = bm_alloc_zero(n_docs, sizeof *seen);
    if (seen == NULL)
        return bm_fail_nomem(err, n_docs);
    bm_status status = BM_OK;
    for (size_t i = 0; i < n_docs; i++) {
        if (order[i] >= n_docs || seen[order[i]] != 0)
            BM_TRY_OUT(bm_fail(err, BM_ERR_INPUT,
                               "place %zu of the order is document %u (each of %zu once, from 0)",
                               i, order[i], n_docs));
        else
            seen[order[i]] = 1;
    }
out:
    bm_free(seen);
    return status;
}

bm_status bm_group_stars(bm_pair_list list, const uint32_t *order, uint32_t *labels, bm_error *err)
{
    BM_TRY(check_pairs(list, err));
    BM_TRY(check_order(order, list.n_docs, err));
    return bm_stars(list, order, labels, err);
}
