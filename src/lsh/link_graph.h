/* SPDX-License-Identifier: Apache-2.0 */
/* link_graph.h -- a graph of documents and the pairs that join them. Each document's neighbours are
 * in ascending order. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_link {
    uint32_t doc; /* the neighbour */
    size_t pair;  /* index of the pair that joins the two */
} bm_link;

typedef struct bm_link_graph {
    size_t n_docs, n_pairs;
    const bm_pair *pairs; /* borrowed */
    /* Set by the caller, borrowed: how many documents each document represents, for counting
     * documents. NULL: each represents only itself. */
    const uint32_t *weights;
    size_t *begins; /* n_docs + 1 indexes into `links` */
    bm_link *links; /* links of each document, ordered by neighbour, then by pair */
} bm_link_graph;

/* Make a graph. The pairs are borrowed until reset. BM_ERR_INPUT: a pair has a number of n_docs or
 * more, or the same document twice. Two pairs of the same documents count as two links. */
bm_status bm_link_graph_init(bm_link_graph *graph, const bm_pair *pairs, size_t n_pairs,
                             size_t n_docs, bm_error *err);
void bm_link_graph_reset(bm_link_graph *graph);
/* Return the index of the pair that joins two documents, the first if there are several, or
 * SIZE_MAX if there is none. */
size_t bm_link_graph_find(const bm_link_graph *graph, uint32_t a, uint32_t b);

/* neighbours -- the neighbours of each document in a list of pairs, in CSR form.
 *
 *     begins   0       2   3           6        n_docs + 1 of them
 *     docs     3 9     |   0 | 1 2 8            the neighbours of document 0 are 3 and 9
 *     pairs    4 0     |   4 | ...              index of the pair that joins the two */

typedef struct bm_pair_list {
    const bm_pair *pairs; /* borrowed; a and b are below n_docs */
    size_t n, n_docs;
} bm_pair_list;

typedef struct bm_neighbours {
    size_t *begins; /* n_docs + 1 indexes into `docs` and `pairs` */
    uint32_t *docs; /* neighbours, in the order of the pairs */
    size_t *pairs;  /* indexes of the pairs; NULL with BM_NEIGHBOURS_DOCS */
} bm_neighbours;    /* {0} is empty */

typedef enum bm_neighbours_with { BM_NEIGHBOURS_DOCS, BM_NEIGHBOURS_AND_PAIRS } bm_neighbours_with;

/* List both directions of every pair. Two pairs of the same documents make two neighbours. Needs 8
 * bytes a document and 8 a pair, or 24 a pair with `pairs`. BM_ERR_NOMEM; *out is then empty. */
bm_status bm_neighbours_make(bm_pair_list list, bm_neighbours_with with, bm_neighbours *out,
                             bm_error *err);
void bm_neighbours_reset(bm_neighbours *neighbours);

/* bridges -- pairs and documents whose removal splits a component. */

typedef struct bm_bridge {
    size_t pair;
    size_t n_a, n_b; /* number of documents that stay connected with pair.a, and with pair.b, if the
                        pair is removed */
} bm_bridge;

typedef struct bm_articulation_point { /* a document whose removal splits its component */
    uint32_t doc;
    uint32_t n_parts; /* number of parts into which the removal splits the component, 2 or more */
} bm_articulation_point;

typedef struct bm_bridges {
    bm_bridge *bridges; /* ordered by pair */
    size_t n_bridges, cap_bridges;
    bm_articulation_point *articulation_points; /* ordered by document */
    size_t n_articulation_points, cap_articulation_points;
} bm_bridges; /* {0} is empty */

/* Find the bridges and articulation points of every component of the graph. BM_ERR_NOMEM. */
bm_status bm_bridges_find(const bm_link_graph *graph, bm_bridges *out, bm_error *err);
void bm_bridges_reset(bm_bridges *bridges);

/* min_cut -- finds the fewest pairs whose removal separates two documents. If there are several
 * such sets, it finds the set nearest the first document. */

typedef struct bm_cut {
    size_t *pairs; /* ascending; empty if the documents are not connected */
    size_t n;
    size_t n_near; /* documents that stay connected with `from`, including `from` */
} bm_cut;          /* {0} is empty */

/* Find the fewest pairs whose removal separates `from` and `to`. Of all such sets, *out is the one
 * that leaves the fewest documents connected with `from`. It is unique, because least cuts form a
 * lattice, and does not depend on the order of the pairs. BM_ERR_USAGE: from == to.
 * BM_ERR_NOMEM. */
bm_status bm_min_cut(const bm_link_graph *graph, uint32_t from, uint32_t to, bm_cut *out,
                     bm_error *err);
void bm_cut_reset(bm_cut *cut);

/* shortest_chain -- shows why two documents are in one group: finds the fewest links between
 * them. */

typedef struct bm_chain {
    size_t n_links; /* 0: there is no chain */
    uint32_t *docs; /* n_links + 1, from `from` to `to` */
    size_t *pairs;  /* n_links */
    size_t weakest; /* index in `pairs` of the least similar link, the first of several */
} bm_chain;         /* {0} is empty */

/* Find the chain of fewest links between two documents. Of several such chains, choose the one with
 * the most similar weakest link. Of several of these, choose the one with the smallest document
 * numbers, compared from `from` on. An unknown similarity (NaN) is less than any other. If from ==
 * to, the chain is empty. BM_ERR_NOMEM. */
bm_status bm_shortest_chain(const bm_link_graph *graph, uint32_t from, uint32_t to, bm_chain *out,
                            bm_error *err);
void bm_chain_reset(bm_chain *chain);
