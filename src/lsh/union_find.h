/* union_find.h -- merge verified pairs into groups. The smaller number is the root, so labels do
 * not depend on the order of the pairs. */
#ifndef BM_LSH_UNION_FIND_H
#define BM_LSH_UNION_FIND_H

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_union_find {
    uint32_t *parent;
    size_t n;
} bm_union_find;

bm_status bm_union_find_init(bm_union_find *sets, size_t n, bm_error *err);
void bm_union_find_reset(bm_union_find *sets);
/* The smallest document of the group; shortens the way to it. */
uint32_t bm_union_find_root(bm_union_find *sets, uint32_t doc);
/* Merge the groups of two documents; false: they were one already. */
bool bm_union_find_link(bm_union_find *sets, uint32_t a, uint32_t b);

#endif
