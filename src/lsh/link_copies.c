/* SPDX-License-Identifier: Apache-2.0 */
/* link_copies.c -- finds the sets of documents that are joined by links of similarity 1, and the
 * threshold above which two documents are no longer joined. Both use union-find.
 *
 * Takes linear time, except for a sort of the pairs. Pure.
 *
 * Tests: tests/unit/lsh/test_link_copies.c, tests/reference/test_groups.py */
#include "lsh/link_copies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/groups.h"

#define NO_NODE UINT32_MAX

bm_status bm_copies_find(bm_pair_list list, const uint32_t *preferred, size_t n_preferred,
                         bm_copies *out, bm_error *err)
{
    bm_union_find sets = {0};
    const size_t n = list.n_docs;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_union_find_init(&sets, n, err));
    BM_TRY_OUT(bm_new(&out->nodes, n, err));
    BM_TRY_OUT(bm_new_zero(&out->n, n, err));
    for (size_t i = 0; i < list.n; i++)
        if (list.pairs[i].similarity >= 1)
            bm_union_find_link(&sets, list.pairs[i].a, list.pairs[i].b);
    for (size_t i = 0; i < n; i++)
        out->nodes[i] = NO_NODE;
    for (size_t i = 0; i < n_preferred; i++) {
        uint32_t *of =
            preferred[i] < n ? &out->nodes[bm_union_find_root(&sets, preferred[i])] : NULL;
        if (of != NULL && *of == NO_NODE)
            *of = preferred[i];
    }
    for (uint32_t doc = 0; doc < n; doc++) { /* the root of a set is its first document */
        const uint32_t root = bm_union_find_root(&sets, doc);
        if (root == doc && out->nodes[doc] == NO_NODE)
            out->nodes[doc] = doc;
        out->nodes[doc] = out->nodes[root];
        out->n_nodes += out->n[out->nodes[doc]]++ == 0;
    }
out:
    bm_union_find_reset(&sets);
    if (status != BM_OK)
        bm_copies_reset(out);
    return status;
}

static int by_ends(const void *x, const void *y)
{
    const bm_pair *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

size_t bm_copies_merge(const bm_copies *copies, bm_pair *pairs, size_t n_pairs)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < n_pairs; i++) {
        const uint32_t a = copies->nodes[pairs[i].a], b = copies->nodes[pairs[i].b];
        if (a != b)
            pairs[n++] = (bm_pair){a < b ? a : b, a < b ? b : a, pairs[i].similarity};
    }
    if (n > 1)
        qsort(pairs, n, sizeof *pairs, by_ends);
    for (size_t i = 0; i < n; i++) {
        bm_pair *last = kept > 0 ? &pairs[kept - 1] : NULL;
        if (last == NULL || last->a != pairs[i].a || last->b != pairs[i].b)
            pairs[kept++] = pairs[i];
        else if (!(last->similarity >= pairs[i].similarity))
            last->similarity = pairs[i].similarity;
    }
    return kept;
}

void bm_copies_reset(bm_copies *copies)
{
    bm_free_all(copies->nodes, copies->n);
    *copies = (bm_copies){0};
}

/* === parting threshold ===
 *
 * Joins documents by links in descending order of similarity, until the two documents are joined.
 * The last link is the weakest of the best chain between them: in every other chain, the weakest
 * link is no stronger. */

static int by_similarity(const void *x, const void *y)
{
    const double p = ((const bm_pair *)x)->similarity, q = ((const bm_pair *)y)->similarity;
    return p < q ? 1 : p > q ? -1 : 0;
}

bm_status bm_parting_threshold(const bm_link_graph *graph, uint32_t a, uint32_t b, double *out,
                               bm_error *err)
{
    bm_union_find sets = {0};
    bm_pair *pairs = NULL;
    size_t n = 0;
    *out = NAN;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_union_find_init(&sets, graph->n_docs, err));
    BM_TRY_OUT(bm_new(&pairs, graph->n_pairs, err));
    for (size_t i = 0; i < graph->n_pairs; i++)
        if (!isnan(graph->pairs[i].similarity))
            pairs[n++] = graph->pairs[i];
    if (n > 1)
        qsort(pairs, n, sizeof *pairs, by_similarity);
    for (size_t i = 0; i < n && isnan(*out); i++) {
        bm_union_find_link(&sets, pairs[i].a, pairs[i].b);
        if (bm_union_find_root(&sets, a) == bm_union_find_root(&sets, b))
            *out = pairs[i].similarity;
    }
out:
    bm_union_find_reset(&sets);
    bm_free(pairs);
    return status;
}
