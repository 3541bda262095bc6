/* pair_order.h -- the order of pairs, and a pair as two words that sort in that order.
 *
 *     key     a << 32 | b         ascends as pairs do
 *     value   bits of the similarity */
#ifndef BM_MODEL_PAIR_ORDER_H
#define BM_MODEL_PAIR_ORDER_H

#include <bandmill/types.h>

/* For qsort and bsearch of bm_pair: by a, then b. */
int bm_pair_by_place(const void *x, const void *y);

static inline uint64_t bm_pair_key(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

uint64_t bm_edge_bits(double similarity);
double bm_edge_similarity(uint64_t bits);

/* The pair of a key and the bits of its similarity. */
bm_pair bm_pair_of_key(uint64_t key, uint64_t bits);

#endif
