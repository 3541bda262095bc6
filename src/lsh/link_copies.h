/* SPDX-License-Identifier: Apache-2.0 */
/* link_copies.h -- two tools that examine groups. One merges documents joined by links of
 * similarity 1 into one node, so that the search for weak links of a group ignores links between
 * copies. The other finds the threshold above which two documents are no longer joined. */
#pragma once

#include "lsh/link_graph.h"

typedef struct bm_copies {
    uint32_t *nodes; /* for each document: the document that represents it, maybe itself */
    /* for each document: how many documents it represents, including itself; 0: another document
     * represents it */
    uint32_t *n;
    size_t n_nodes;
} bm_copies; /* {0} is empty */

/* Merge list.n_docs documents into nodes of copies. The first document of `preferred` that is in a
 * node represents the node. If there is none, the document with the lowest number does. Numbers in
 * `preferred` that are n_docs or more are ignored. BM_ERR_NOMEM; *out is then empty. */
bm_status bm_copies_find(bm_pair_list list, const uint32_t *preferred, size_t n_preferred,
                         bm_copies *out, bm_error *err);
/* Turn pairs of documents into pairs of nodes, in place, sorted by a, then b. Pairs within a node
 * are dropped. Of several pairs of the same two nodes, the greatest similarity is kept. Returns how
 * many pairs are left. */
size_t bm_copies_merge(const bm_copies *copies, bm_pair *pairs, size_t n_pairs);
void bm_copies_reset(bm_copies *copies);

/* Set *out to the greatest threshold at which links join a and b, or to NAN if no links of known
 * similarity join them. a and b must differ. BM_ERR_NOMEM. */
bm_status bm_parting_threshold(const bm_link_graph *graph, uint32_t a, uint32_t b, double *out,
                               bm_error *err);
