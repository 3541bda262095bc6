/* rare_prefix.h -- the rarest shingles of a document: by them, documents that reach a threshold
 * must meet. */
#ifndef BM_LSH_RARE_PREFIX_H
#define BM_LSH_RARE_PREFIX_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "lsh/shingle_counts.h"

/* The least c with (double)c / (double)n >= threshold, n if there is none: what a document of n
 * shingles must share with any other to reach the threshold, and the size that the other must have
 * at least. */
size_t bm_least_share(size_t n, double threshold);

/* n - bm_least_share(n) + 1: of a document that looks for others in an index. */
size_t bm_prefix_to_probe(size_t n, double threshold);
/* n - c + 1 with the least c that is enough for two documents of n shingles: of a document in an
 * index where only documents of n or more shingles look. Never longer than the other. */
size_t bm_prefix_to_index(size_t n, double threshold);

/* Two documents x and y with |x| >= |y| that reach the threshold have a key in common, of those
 * among the first bm_prefix_to_probe(|x|) of x and the first bm_prefix_to_index(|y|) of y. At the
 * first such key, with i keys before it in x and j in y, they share at most min(|x| - i, |y| - j)
 * shingles. */

/* The keys of the first `length` shingles of a document, rarest first, but for shingles that no
 * other document has: these come first, *n_alone of them, and have no key. Returns the number of
 * keys, which ascend, in keys[0 …]. Room for n keys, and n of scratch; `keys` may be the very place
 * of `set`, which need not be in any order. */
size_t bm_rare_prefix(const bm_shingle_counts *counts, const uint64_t *set, size_t n, size_t length,
                      uint64_t *keys, uint64_t *scratch, size_t *n_alone);

/* The same in two steps, for counts from elsewhere: the key of a shingle that stands in `count`
 * documents, 2 at least; then, of a document's n shingles, the n_keys keys of those that have one.
 */
static inline uint64_t bm_rare_key(uint64_t mixed, uint32_t count)
{
    return (uint64_t)count << 48 | mixed >> 16;
}
size_t bm_rare_prefix_cut(uint64_t *keys, size_t n_keys, size_t n, size_t length,
                          uint64_t *scratch);

#endif
