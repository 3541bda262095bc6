/* min_cut.h -- which pairs would have to go to part two documents: a least set, the one nearest the
 * first. */
#ifndef BM_LSH_MIN_CUT_H
#define BM_LSH_MIN_CUT_H

#include "lsh/link_graph.h"

typedef struct bm_cut {
    size_t *pairs; /* ascending; none where the documents are apart already */
    size_t n;
    size_t n_near; /* documents that stay with `from` */
} bm_cut;          /* {0} is empty */

/* A least number of pairs without which no chain joins two different documents. Of all such sets
 * the one that leaves the fewest documents with `from`: it is unique (least cuts form a lattice)
 * and does not depend on the order of the pairs. BM_ERR_NOMEM. */
bm_status bm_min_cut(const bm_link_graph *graph, uint32_t from, uint32_t to, bm_cut *out,
                     bm_error *err);
void bm_cut_reset(bm_cut *cut);

#endif
