/* link_graph.c -- adjacency in CSR form, both directions of each pair.
 *
 * Neighbours come out sorted without a sort: the lists are filled in the order of the pairs, then
 * transposed. Document u, walked in ascending order, is appended to the list of each of its
 * neighbours, so every list fills in ascending order; pairs of the same two documents keep theirs.
 * Linear in documents and pairs; 16 bytes a direction, twice while it is built.
 *
 * Pure; read by any number of threads once built. */
#include "lsh/link_graph.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static bm_status check(const bm_pair *pairs, size_t n_pairs, size_t n_docs, bm_error *err)
{
    if (n_docs > BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%zu documents are too many (at most %u)", n_docs,
                       BM_DOCS_MAX);
    for (size_t i = 0; i < n_pairs; i++)
        if (pairs[i].a >= n_docs || pairs[i].b >= n_docs || pairs[i].a == pairs[i].b)
            return bm_fail(err, BM_ERR_INPUT,
                           "pair %zu joins documents %u and %u (two of %zu, from 0)", i, pairs[i].a,
                           pairs[i].b, n_docs);
    return BM_OK;
}

static void set_begins(bm_link_graph *g)
{
    for (size_t i = 0; i < g->n_pairs; i++) {
        g->begins[g->pairs[i].a + 1]++;
        g->begins[g->pairs[i].b + 1]++;
    }
    for (size_t doc = 0; doc < g->n_docs; doc++)
        g->begins[doc + 1] += g->begins[doc];
}

static void fill(const bm_link_graph *g, bm_link *by_pair, size_t *next)
{
    memcpy(next, g->begins, g->n_docs * sizeof *next);
    for (size_t i = 0; i < g->n_pairs; i++) {
        const bm_pair *pair = &g->pairs[i];
        by_pair[next[pair->a]++] = (bm_link){pair->b, i};
        by_pair[next[pair->b]++] = (bm_link){pair->a, i};
    }
    memcpy(next, g->begins, g->n_docs * sizeof *next);
    for (size_t doc = 0; doc < g->n_docs; doc++)
        for (size_t i = g->begins[doc]; i < g->begins[doc + 1]; i++)
            g->links[next[by_pair[i].doc]++] = (bm_link){(uint32_t)doc, by_pair[i].pair};
}

bm_status bm_link_graph_init(bm_link_graph *graph, const bm_pair *pairs, size_t n_pairs,
                             size_t n_docs, bm_error *err)
{
    bm_link_graph g = {.n_docs = n_docs, .n_pairs = n_pairs, .pairs = pairs};
    bm_status status = check(pairs, n_pairs, n_docs, err);
    if (status != BM_OK)
        return status;
    bm_link *by_pair = bm_alloc(n_pairs, 2 * sizeof *by_pair);
    size_t *next = bm_alloc(n_docs + 1, sizeof *next);
    g.begins = bm_alloc_zero(n_docs + 1, sizeof *g.begins);
    g.links = bm_alloc(n_pairs, 2 * sizeof *g.links);
    if (by_pair == NULL || next == NULL || g.begins == NULL || g.links == NULL) {
        status = bm_fail_nomem(err, n_pairs * 4 * sizeof *g.links);
        bm_link_graph_reset(&g);
    } else {
        set_begins(&g);
        fill(&g, by_pair, next);
        *graph = g;
    }
    bm_free(by_pair);
    bm_free(next);
    return status;
}

void bm_link_graph_reset(bm_link_graph *graph)
{
    bm_free(graph->begins);
    bm_free(graph->links);
    memset(graph, 0, sizeof *graph);
}

size_t bm_link_graph_find(const bm_link_graph *graph, uint32_t a, uint32_t b)
{
    size_t low = graph->begins[a], end = graph->begins[a + 1], high = end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (graph->links[middle].doc < b)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && graph->links[low].doc == b ? graph->links[low].pair : SIZE_MAX;
}
