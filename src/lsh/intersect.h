/* intersect.h -- how many elements two sorted sets of hashes have in common: the loop under
 * verify.c. */
#ifndef BM_LSH_INTERSECT_H
#define BM_LSH_INTERSECT_H

#include "lsh/intersect_loops.h"

/* true and *common = |x and y| where that is at least `least`; else false, and *common says
 * nothing. Chooses the fastest loop for these sizes and this processor; the answer does not depend
 * on it. */
bool bm_intersect(bm_sorted_set x, bm_sorted_set y, size_t least, size_t *common);

#endif
