/* index_near.h -- documents of one batch against those before them in it: the part of `unique` that an
 * index cannot answer, since they are not in it yet.
 *
 * The same candidates and the same similarities as a search of the index (search.h) would give. One thread. */
#ifndef BM_INDEX_INDEX_NEAR_H
#define BM_INDEX_INDEX_NEAR_H

#include "index/index_gather.h"

typedef struct bm_index_near {
    const bm_gathered *batch;
    const bm_gather_shape *shape;
    double threshold;
    uint32_t *heads,
        *next;      /* chains of entries, one a document and band; 0: the end, else entry + 1 */
    uint32_t *seen; /* of each document: in which question it was compared last */
    uint32_t question;
    bool *there; /* it is in the chains, and was not taken out */
    size_t n_heads, cap_heads, cap_next, cap_seen, cap_there;
    uint64_t candidates, verified; /* summed over all batches */
} bm_index_near;                   /* {0} is empty */

/* A settled batch, none of whose documents is in yet, which may grow to `n`; borrowed until the next one. Questions are
 * fewer than 2^32. */
bm_status bm_index_near_begin(bm_index_near *near, const bm_gathered *batch, size_t n,
                              const bm_gather_shape *shape, bm_error *err);
void bm_index_near_reset(bm_index_near *near);
void bm_index_near_add(bm_index_near *near, size_t i);
void bm_index_near_take_out(bm_index_near *near, size_t i);
/* The document in it that is most like document i and reaches the threshold, of equal ones the first, but for
 * document `but`; *similarity. False: there is none. */
bool bm_index_near_best(bm_index_near *near, size_t i, size_t but, size_t *best,
                        double *similarity);

#endif
