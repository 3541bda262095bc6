/* stars.h -- groups in which every document is joined to the one in the middle.
 *
 * Documents take their turn in a given order. One that is not yet taken when its turn comes becomes
 * a centre and takes its neighbours that are not yet taken. So each document is a neighbour of its
 * centre, and no two centres are neighbours. */
#ifndef BM_LSH_STARS_H
#define BM_LSH_STARS_H

#include "lsh/neighbours.h"

#define BM_NOT_TAKEN UINT32_MAX /* the centre of a document before it is taken */

/* The two steps of it, for neighbours that come from elsewhere than memory. A document's turn: is
 * it a centre? */
static inline bool bm_star_begin(uint32_t *centres, uint32_t doc)
{
    if (centres[doc] != BM_NOT_TAKEN)
        return false;
    centres[doc] = doc;
    return true;
}

static inline void bm_star_take(uint32_t *centres, uint32_t centre, uint32_t neighbour)
{
    if (centres[neighbour] == BM_NOT_TAKEN)
        centres[neighbour] = centre;
}

/* Give the n documents of `order` (NULL: 0 … n-1) their turns. `centres` has one place a document,
 * BM_NOT_TAKEN before; a centre is its own. */
void bm_stars_walk(const bm_neighbours *neighbours, const uint32_t *order, size_t n,
                   uint32_t *centres);

/* Stars over all documents of a list of pairs. `order` has each of them once; NULL: ascending.
 * `centres`: list.n_docs, filled. BM_ERR_NOMEM, and `centres` is as it was. */
bm_status bm_stars(bm_pair_list list, const uint32_t *order, uint32_t *centres, bm_error *err);

#endif
