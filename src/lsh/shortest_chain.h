/* shortest_chain.h -- how two documents come to be in one group: the fewest links between them. */
#ifndef BM_LSH_SHORTEST_CHAIN_H
#define BM_LSH_SHORTEST_CHAIN_H

#include "lsh/link_graph.h"

typedef struct bm_chain {
    size_t n_links; /* 0: there is no chain */
    uint32_t *docs; /* n_links + 1, from one end to the other */
    size_t *pairs;  /* n_links */
    size_t weakest; /* place in `pairs` of the first of the least similar links */
} bm_chain;         /* {0} is empty */

/* The chain of fewest links between two different documents; of several the one whose weakest link
 * is most similar; of several of these the one whose documents come first, compared from `from` on.
 * A similarity that is not known (NaN) is less than any other. BM_ERR_NOMEM. */
bm_status bm_shortest_chain(const bm_link_graph *graph, uint32_t from, uint32_t to, bm_chain *out,
                            bm_error *err);
void bm_chain_reset(bm_chain *chain);

#endif
