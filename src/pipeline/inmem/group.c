/* group.c -- bm_group_components and bm_group_stars: from a list of pairs to groups.
 *
 * Components are union-find. Stars walk the documents in the given order over an adjacency list in
 * CSR form (both directions of each pair, 8 bytes a pair and 8 a document). Everything is checked
 * before the labels are touched.
 *
 * Pure functions; any thread. */
#include "pipeline/inmem/group.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/union_find.h"

static bm_status check_pairs(const bm_pair *pairs, size_t n_pairs, size_t n_docs, bm_error *err)
{
    if (n_docs > BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%zu documents are too many (at most %u)", n_docs,
                       BM_DOCS_MAX);
    for (size_t i = 0; i < n_pairs; i++)
        if (pairs[i].a >= n_docs || pairs[i].b >= n_docs)
            return bm_fail(err, BM_ERR_INPUT,
                           "pair %zu joins documents %u and %u (there are %zu, from 0)", i,
                           pairs[i].a, pairs[i].b, n_docs);
    return BM_OK;
}

bm_status bm_group_components(const bm_pair *pairs, size_t n_pairs, size_t n_docs, uint32_t *labels,
                              bm_error *err)
{
    bm_union_find sets;
    bm_status status = check_pairs(pairs, n_pairs, n_docs, err);
    if (status == BM_OK)
        status = bm_union_find_init(&sets, n_docs, err);
    if (status != BM_OK)
        return status;
    for (size_t i = 0; i < n_pairs; i++)
        bm_union_find_link(&sets, pairs[i].a, pairs[i].b);
    for (size_t doc = 0; doc < n_docs; doc++)
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
    for (size_t i = 0; status == BM_OK && i < n_docs; i++) {
        if (order[i] >= n_docs || seen[order[i]] != 0)
            status = bm_fail(err, BM_ERR_INPUT,
                             "place %zu of the order is document %u (each of %zu once, from 0)", i,
                             order[i], n_docs);
        else
            seen[order[i]] = 1;
    }
    bm_free(seen);
    return status;
}

/* Neighbours of each document: others[begins[doc]] … others[begins[doc + 1] - 1]. */
typedef struct graph {
    size_t *begins;
    uint32_t *others;
} graph;

static bm_status graph_init(graph *g, const bm_pair *pairs, size_t n_pairs, size_t n_docs,
                            bm_error *err)
{
    g->begins = bm_alloc_zero(n_docs + 1, sizeof *g->begins);
    g->others = bm_alloc(n_pairs, 2 * sizeof *g->others);
    if (g->begins == NULL || g->others == NULL)
        return bm_fail_nomem(err, (n_docs + n_pairs) * sizeof *g->begins);
    for (size_t i = 0; i < n_pairs; i++) {
        g->begins[pairs[i].a]++;
        g->begins[pairs[i].b]++;
    }
    size_t sum = 0;
    for (size_t doc = 0; doc <= n_docs; doc++)
        g->begins[doc] = sum += g->begins[doc];
    for (size_t i = 0; i < n_pairs; i++) { /* ends count down to begins */
        g->others[--g->begins[pairs[i].a]] = pairs[i].b;
        g->others[--g->begins[pairs[i].b]] = pairs[i].a;
    }
    return BM_OK;
}

static void graph_reset(graph *g)
{
    bm_free(g->begins);
    bm_free(g->others);
}

bm_status bm_group_stars(const bm_pair *pairs, size_t n_pairs, size_t n_docs, const uint32_t *order,
                         uint32_t *labels, bm_error *err)
{
    graph g = {0};
    bm_status status = check_pairs(pairs, n_pairs, n_docs, err);
    if (status == BM_OK)
        status = check_order(order, n_docs, err);
    if (status == BM_OK)
        status = graph_init(&g, pairs, n_pairs, n_docs, err);
    if (status == BM_OK && n_docs != 0)
        memset(labels, 0xFF, n_docs * sizeof *labels); /* UINT32_MAX: not yet taken */
    for (size_t i = 0; status == BM_OK && i < n_docs; i++) {
        uint32_t centre = order == NULL ? (uint32_t)i : order[i];
        if (labels[centre] != UINT32_MAX)
            continue;
        labels[centre] = centre;
        for (size_t k = g.begins[centre]; k < g.begins[centre + 1]; k++)
            if (labels[g.others[k]] == UINT32_MAX)
                labels[g.others[k]] = centre;
    }
    graph_reset(&g);
    return status;
}
