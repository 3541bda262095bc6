/* link_graph.c -- neighbours in ascending order.
 *
 * They come out sorted without a sort: the lists of neighbours.c, in the order of the pairs, are
 * transposed. Document u, walked in ascending order, is appended to the list of each of its
 * neighbours, so every list fills in ascending order; pairs of the same two documents keep theirs.
 * Linear in documents and pairs; 16 bytes a direction, and 12 more while it is built.
 *
 * Pure; read by any number of threads once built. */
#include "lsh/link_graph.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/neighbours.h"

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

/* Transpose the lists of `n` into g->links. */
static void fill(const bm_link_graph *g, const bm_neighbours *n, size_t *next)
{
    memcpy(next, g->begins, g->n_docs * sizeof *next);
    for (size_t doc = 0; doc < g->n_docs; doc++)
        for (size_t i = g->begins[doc]; i < g->begins[doc + 1]; i++)
            g->links[next[n->docs[i]]++] = (bm_link){(uint32_t)doc, n->pairs[i]};
}

bm_status bm_link_graph_init(bm_link_graph *graph, const bm_pair *pairs, size_t n_pairs,
                             size_t n_docs, bm_error *err)
{
    bm_link_graph g = {.n_docs = n_docs, .n_pairs = n_pairs, .pairs = pairs};
    bm_neighbours neighbours = {0};
    bm_pair_list list = {.pairs = pairs, .n = n_pairs, .n_docs = n_docs};
    BM_TRY(check(pairs, n_pairs, n_docs, err));
    BM_TRY(bm_neighbours_make(list, BM_NEIGHBOURS_AND_PAIRS, &neighbours, err));
    size_t *next = bm_alloc(n_docs + 1, sizeof *next);
    g.links = bm_alloc(n_pairs, 2 * sizeof *g.links);
    bm_status status = BM_OK;
    if (next == NULL || g.links == NULL) {
        status = bm_fail_nomem(err, n_pairs * 4 * sizeof *g.links);
        bm_free(g.links);
    } else {
        g.begins = neighbours.begins; /* the same in both directions */
        neighbours.begins = NULL;
        fill(&g, &neighbours, next);
        *graph = g;
    }
    bm_free(next);
    bm_neighbours_reset(&neighbours);
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
