/* repeats.h -- the elements that stand for the second and later occurrences of shingles in a bag
 * (kernels/occurrence.h). */
#ifndef BM_TEXT_REPEATS_H
#define BM_TEXT_REPEATS_H

#include "text/distinct.h"

/* How many there are, of n shingles that occur so often. */
uint64_t bm_repeats_count(const uint32_t *counts, size_t n);
/* Append them to the list, which has room for so many, and whose values so far are those of the
 * counts: shingle after shingle, n = 2, 3, … of each. Where the list has counts, all of them are 1
 * after that, since each element is one of its own. As bm_distinct_add. */
bm_status bm_repeats_add(bm_distinct *set, const uint32_t *counts, bm_distinct_list *list,
                         bm_error *err);
/* The same in place, of n hashes that ascend: they do not after that. */
void bm_repeats_replace(uint64_t *hashes, size_t n);

#endif
