/* verify.h -- exact Jaccard similarity of sorted distinct 64-bit hash sets. */
#ifndef BM_LSH_VERIFY_H
#define BM_LSH_VERIFY_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* Sort a document's hashes (distinct already) ascending; scratch of n words. */
void bm_hashes_sort(uint64_t *hashes, size_t n, uint64_t *scratch);
/* |x and y| of two sorted distinct sets. */
size_t bm_hashes_common(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y);
/* |and| / |or| in double; 0 where both are empty. */
double bm_jaccard(size_t common, size_t n_x, size_t n_y);
/* Exact similarity if it is >= threshold, else any value below the threshold that is >= ... not
 * exact: stops as soon as the rest cannot reach it. Returns a negative number then. */
double bm_jaccard_at_least(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y,
                           double threshold);

#endif
