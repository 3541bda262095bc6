/* SPDX-License-Identifier: Apache-2.0 */
/* link_copies.h -- documents joined by links of similarity 1 become one node, so that links between
 * copies hold no group together; and the threshold above which two documents part. */
#pragma once

#include "lsh/link_graph.h"

typedef struct bm_copies {
    uint32_t *nodes; /* of each document: its representative, which may be itself */
    uint32_t *n;     /* of each document: how many it represents, including itself; 0: none */
    size_t n_nodes;
} bm_copies; /* {0} is empty */

/* Find the copies among list.n_docs documents. The first of `preferred` (numbers at or past n_docs
 * are passed over) that is in a node represents it, else its first document. BM_ERR_NOMEM. */
bm_status bm_copies_find(bm_pair_list list, const uint32_t *preferred, size_t n_preferred,
                         bm_copies *out, bm_error *err);
/* Turn pairs of documents into pairs of nodes, sorted by a, then b. Pairs within a node are
 * dropped, and of several pairs of the same two nodes the most similar stays. Returns how many are
 * left. */
size_t bm_copies_merge(const bm_copies *copies, bm_pair *pairs, size_t n_pairs);
void bm_copies_reset(bm_copies *copies);

/* The greatest threshold at which links join two different documents: above it they part. NAN: not
 * known, or nothing joins them. BM_ERR_NOMEM. */
bm_status bm_parting_threshold(const bm_link_graph *graph, uint32_t a, uint32_t b, double *out,
                               bm_error *err);
