/* rare_prefix.h -- the rarest shingles of a document: by them, documents that reach a threshold
 * must meet. */
#ifndef BM_LSH_RARE_PREFIX_H
#define BM_LSH_RARE_PREFIX_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "lsh/shingle_counts.h"

/* The measure and the threshold that a pair must reach. */
typedef struct bm_join_rule {
    bm_measure measure;
    double threshold; /* above 0, at most 1 */
} bm_join_rule;

/* The size that a document must have at least to be a pair with one of n shingles. */
size_t bm_least_size(bm_join_rule rule, size_t n);
/* How many of its rarest shingles a document of n looks for others by: n - bm_least_share(n) + 1, of containment n. */
size_t bm_prefix_to_probe(bm_join_rule rule, size_t n);
/* n - c + 1 with the least c that is enough for two documents of n shingles: of a document in an
 * index where only documents of n or more shingles look. Never longer than the other. */
size_t bm_prefix_to_index(bm_join_rule rule, size_t n);

/* Two documents x and y with |x| >= |y| that reach the threshold have a key in common, of those
 * among the first bm_prefix_to_probe(|x|) of x and the first bm_prefix_to_index(|y|) of y. At the
 * first such key, with i keys before it in x and j in y, they share at most min(|x| - i, |y| - j)
 * shingles. */

typedef struct bm_rare_prefix_room {
    uint64_t *keys;    /* room for all shingles of the document; may be the very place of its set */
    uint64_t *scratch; /* as much */
} bm_rare_prefix_room;

typedef struct bm_rare_prefix_size {
    size_t n_keys;  /* ascending, in room.keys[0 …] */
    size_t n_alone; /* shingles that no other document has: rarer than those, and without a key */
} bm_rare_prefix_size;

/* The keys of the `length` rarest shingles of a document of n shingles, but for those that it has
 * alone, which come first and have no key. `set` need not be in any order. */
bm_rare_prefix_size bm_rare_prefix(const bm_shingle_counts *counts, const uint64_t *set, size_t n,
                                   size_t length, bm_rare_prefix_room room);

/* The same in two steps, for counts from elsewhere. First the key of each shingle that stands in
 * `count` documents, 2 at least. */
static inline uint64_t bm_rare_key(uint64_t mixed, uint32_t count)
{
    return (uint64_t)count << 48 | mixed >> 16;
}
/* Then the n_keys keys of a document of n shingles are cut to the prefix: sorted, and the number
 * that is left. `scratch` holds n_keys. */
size_t bm_rare_prefix_cut(uint64_t *keys, size_t n_keys, size_t n, size_t length,
                          uint64_t *scratch);

#endif
