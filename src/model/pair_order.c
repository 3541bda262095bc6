/* pair_order.c -- comparing pairs by their documents; a similarity as bits and back. Pure. */
#include "model/pair_order.h"

#include <string.h>

int bm_pair_by_place(const void *x, const void *y)
{
    const bm_pair *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

uint64_t bm_edge_bits(double similarity)
{
    uint64_t bits;
    memcpy(&bits, &similarity, sizeof bits);
    return bits;
}

double bm_edge_similarity(uint64_t bits)
{
    double similarity;
    memcpy(&similarity, &bits, sizeof similarity);
    return similarity;
}

bm_pair bm_pair_of_key(uint64_t key, uint64_t bits)
{
    return (bm_pair){
        .a = (uint32_t)(key >> 32), .b = (uint32_t)key, .similarity = bm_edge_similarity(bits)};
}
