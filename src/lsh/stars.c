/* stars.c -- one walk over the neighbours of all documents. Linear; pure. */
#include "lsh/stars.h"

#include "base/error.h"

void bm_stars_walk(const bm_neighbours *neighbours, const uint32_t *order, size_t n,
                   uint32_t *centres)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t doc = order == NULL ? (uint32_t)i : order[i];
        if (!bm_star_begin(centres, doc))
            continue;
        size_t end = neighbours->begins[doc + (size_t)1];
        for (size_t k = neighbours->begins[doc]; k < end; k++)
            bm_star_take(centres, doc, neighbours->docs[k]);
    }
}

bm_status bm_stars(bm_pair_list list, const uint32_t *order, uint32_t *centres, bm_error *err)
{
    bm_neighbours neighbours = {0};
    BM_TRY(bm_neighbours_make(list, BM_NEIGHBOURS_DOCS, &neighbours, err));
    for (size_t doc = 0; doc < list.n_docs; doc++)
        centres[doc] = BM_NOT_TAKEN;
    bm_stars_walk(&neighbours, order, list.n_docs, centres);
    bm_neighbours_reset(&neighbours);
    return BM_OK;
}
