/* link_graph.h -- documents and the pairs that join them, for walking: each document's neighbours
 * in ascending order. */
#ifndef BM_LSH_LINK_GRAPH_H
#define BM_LSH_LINK_GRAPH_H

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_link {
    uint32_t doc; /* the other end */
    size_t pair;  /* which pair joins them */
} bm_link;

typedef struct bm_link_graph {
    size_t n_docs, n_pairs;
    const bm_pair *pairs; /* borrowed */
    size_t *begins;       /* n_docs + 1 places in `links` */
    bm_link *links;       /* of each document: by the other end, then by pair */
} bm_link_graph;

/* Borrows the pairs until reset. A pair that names a document at or past n_docs, or one document
 * twice: BM_ERR_INPUT. Two pairs of the same documents count as two links. */
bm_status bm_link_graph_init(bm_link_graph *graph, const bm_pair *pairs, size_t n_pairs,
                             size_t n_docs, bm_error *err);
void bm_link_graph_reset(bm_link_graph *graph);
/* The pair of two documents, the first of several; SIZE_MAX: none. */
size_t bm_link_graph_find(const bm_link_graph *graph, uint32_t a, uint32_t b);

#endif
