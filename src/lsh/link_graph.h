/* SPDX-License-Identifier: Apache-2.0 */
/* link_graph.h -- documents and the pairs that join them, for walking: each document's neighbours
 * in ascending order. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_link {
    uint32_t doc; /* the other end */
    size_t pair;  /* which pair joins them */
} bm_link;

typedef struct bm_link_graph {
    size_t n_docs, n_pairs;
    const bm_pair *pairs; /* borrowed */
    /* Borrowed, set by the caller: how many documents each one represents, for counts of documents;
     * NULL: one each. */
    const uint32_t *weights;
    size_t *begins; /* n_docs + 1 places in `links` */
    bm_link *links; /* each document's links, by the other end, then by pair */
} bm_link_graph;

/* Borrows the pairs until reset. A pair that names a document at or past n_docs, or one document
 * twice: BM_ERR_INPUT. Two pairs of the same documents count as two links. */
bm_status bm_link_graph_init(bm_link_graph *graph, const bm_pair *pairs, size_t n_pairs,
                             size_t n_docs, bm_error *err);
void bm_link_graph_reset(bm_link_graph *graph);
/* The pair of two documents, the first of several; SIZE_MAX: none. */
size_t bm_link_graph_find(const bm_link_graph *graph, uint32_t a, uint32_t b);

/* neighbours -- for each document those that a list of pairs joins it to, in CSR form.
 *
 *     begins   0       2   3           6        n_docs + 1 of them
 *     docs     3 9     |   0 | 1 2 8            the neighbours of document 0 are 3 and 9
 *     pairs    4 0     |   4 | ...              which pair each of them comes from */

typedef struct bm_pair_list {
    const bm_pair *pairs; /* borrowed; both ends below n_docs */
    size_t n, n_docs;
} bm_pair_list;

typedef struct bm_neighbours {
    size_t *begins; /* n_docs + 1 places in `docs` and `pairs` */
    uint32_t *docs; /* the other ends, in the order of their pairs */
    size_t *pairs;  /* numbers of the pairs; NULL where they were not asked for */
} bm_neighbours;    /* {0} is empty */

typedef enum bm_neighbours_with { BM_NEIGHBOURS_DOCS, BM_NEIGHBOURS_AND_PAIRS } bm_neighbours_with;

/* Both directions of every pair; a pair that is listed twice makes two neighbours. 8 bytes a
 * document and 8 a pair, 16 more a pair with numbers. BM_ERR_NOMEM, and `out` is empty. */
bm_status bm_neighbours_make(bm_pair_list list, bm_neighbours_with with, bm_neighbours *out,
                             bm_error *err);
void bm_neighbours_reset(bm_neighbours *neighbours);

/* bridges -- what holds a group together: pairs and documents without which it falls apart. */

typedef struct bm_bridge {
    size_t pair;
    size_t n_a, n_b; /* documents that stay with pair.a, and with pair.b */
} bm_bridge;

typedef struct bm_articulation_point { /* a document that holds parts of its component together */
    uint32_t doc;
    uint32_t n_parts; /* into which its component falls without it: 2 or more */
} bm_articulation_point;

typedef struct bm_bridges {
    bm_bridge *bridges; /* by pair */
    size_t n_bridges, cap_bridges;
    bm_articulation_point *articulation_points; /* by document */
    size_t n_articulation_points, cap_articulation_points;
} bm_bridges; /* {0} is empty */

/* Find them in every component of the graph. BM_ERR_NOMEM. */
bm_status bm_bridges_find(const bm_link_graph *graph, bm_bridges *out, bm_error *err);
void bm_bridges_reset(bm_bridges *bridges);

/* min_cut -- the fewest pairs whose removal separates two documents; of several such sets, the one
 * nearest the first. */

typedef struct bm_cut {
    size_t *pairs; /* ascending; none if the documents are not connected */
    size_t n;
    size_t n_near; /* documents that stay with `from` */
} bm_cut;          /* {0} is empty */

/* Find the fewest pairs without which no chain joins two different documents. Of all such sets the
 * one that leaves the fewest documents with `from`: it is unique (least cuts form a lattice) and
 * does not depend on the order of the pairs. BM_ERR_NOMEM. */
bm_status bm_min_cut(const bm_link_graph *graph, uint32_t from, uint32_t to, bm_cut *out,
                     bm_error *err);
void bm_cut_reset(bm_cut *cut);

/* shortest_chain -- how two documents come to be in one group: the fewest links between them. */

typedef struct bm_chain {
    size_t n_links; /* 0: there is no chain */
    uint32_t *docs; /* n_links + 1, from one end to the other */
    size_t *pairs;  /* n_links */
    size_t weakest; /* place in `pairs` of the first of the least similar links */
} bm_chain;         /* {0} is empty */

/* Find the chain of fewest links between two different documents; of several the one with the most
 * similar weakest link; of several of these the one with the earliest documents, compared from
 * `from` on. A similarity that is not known (NaN) is less than any other. BM_ERR_NOMEM. */
bm_status bm_shortest_chain(const bm_link_graph *graph, uint32_t from, uint32_t to, bm_chain *out,
                            bm_error *err);
void bm_chain_reset(bm_chain *chain);
