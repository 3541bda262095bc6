/* verify.h -- exact similarity of sorted distinct 64-bit hash sets: Jaccard, or containment. */
#ifndef BM_LSH_VERIFY_H
#define BM_LSH_VERIFY_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* Sort a document's hashes ascending (repeats are allowed); scratch of n words, n below 2^32. */
void bm_hashes_sort(uint64_t *hashes, size_t n, uint64_t *scratch);
/* The same with scratch of `cap` words, 16 at least, however many hashes there are. */
void bm_hashes_sort_within(uint64_t *hashes, size_t n, uint64_t *scratch, size_t cap);
#define BM_SORT_SCRATCH ((size_t)1 << 19) /* words that long sets are sorted with */
/* Drop the repeats of a sorted array in place; what is left. */
size_t bm_hashes_distinct(uint64_t *hashes, size_t n);
/* |x and y| of two sorted distinct sets. */
size_t bm_hashes_common(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y);
/* |and| / |or| in double; 0 where both are empty. */
double bm_jaccard(size_t common, size_t n_x, size_t n_y);
/* The other way round: how many hashes are common, of which bm_jaccard made this number. */
size_t bm_jaccard_common(double jaccard, size_t n_x, size_t n_y);
/* The least number of common hashes with bm_jaccard(number, n_x, n_y) >= threshold; SIZE_MAX where
 * even the whole smaller set is not enough. */
size_t bm_jaccard_least_common(size_t n_x, size_t n_y, double threshold);
/* The exact similarity, bm_jaccard(bm_hashes_common(x, y)), where that is >= threshold; else a
 * negative number, as soon as it is certain that what is left cannot reach the threshold. */
double bm_jaccard_at_least(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y,
                           double threshold);

/* |and| / |the smaller of them| in double; 0 where one is empty. */
double bm_containment(size_t common, size_t n_x, size_t n_y);
/* The least c with (double)c / (double)n >= threshold, n if there is none: how many of its n shingles a document must
 * share, so that they are a share of `threshold`. */
size_t bm_least_share(size_t n, double threshold);
/* bm_jaccard_at_least, or the same of containment. */
double bm_similarity_at_least(bm_measure measure, const uint64_t *x, size_t n_x, const uint64_t *y,
                              size_t n_y, double threshold);

#endif
