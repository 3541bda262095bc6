/* weighted_pairs.h -- every pair of weighted documents that reaches the threshold, without bands.
 */
#ifndef BM_MATCH_WEIGHTED_PAIRS_H
#define BM_MATCH_WEIGHTED_PAIRS_H

#include "lsh/verify.h"
#include "match/edges.h"

/* weighted_index -- which documents of a block have a shingle among their heaviest ones.
 *
 * Threads: one builds; then any number may look up. */

typedef struct bm_weighted_entry {
    uint64_t key; /* of the shingle, mixed */
    uint32_t doc; /* of the block: 0, 1, 2 … */
} bm_weighted_entry;

typedef struct bm_weighted_index {
    uint32_t n_docs;
    double *sums; /* of the weights of each document */
    size_t cap_docs;
    bm_weighted_entry *entries; /* once it is built: by the leading bits of their keys */
    size_t n, cap;
    size_t *starts; /* 2^bits + 1 */
    unsigned bits;
} bm_weighted_index; /* {0} is empty */

#define BM_WEIGHTED_ENTRY (2 * sizeof(bm_weighted_entry) + 2 * sizeof(size_t)) /* bytes, about */

/* How much of a set's weight must be met by a pair of at least this similarity (weighted_pairs.c),
 * as the similarity is computed: sets have at most `longest` elements. */
double bm_weighted_share(double threshold, size_t longest);
/* The next document of the block: its heaviest elements, without which less than `share` of its
 * weight is left. `scratch`: set.n elements. BM_ERR_NOMEM. */
bm_status bm_weighted_index_add(bm_weighted_index *index, bm_weighted_set set, double share,
                                void *scratch, bm_error *err);
#define BM_WEIGHTED_SCRATCH (2 * sizeof(uint64_t)) /* bytes of scratch for an element */
/* All documents of the block were added. */
bm_status bm_weighted_index_build(bm_weighted_index *index, bm_error *err);
/* `hash` will soon be looked up. */
void bm_weighted_index_expect(const bm_weighted_index *index, uint64_t hash);
/* The entries among which those of `hash` are: entries[*begin] … entries[end - 1]; returns the end.
 */
size_t bm_weighted_index_find(const bm_weighted_index *index, uint64_t hash, uint64_t *key,
                              size_t *begin);
/* Empty, in the same memory; and free. */
void bm_weighted_index_clear(bm_weighted_index *index);
void bm_weighted_index_reset(bm_weighted_index *index);

/* The corpus has weighted sets, in memory or in a file, and is complete. The pairs that are
 * compared depend on neither threads nor memory. */
bm_status bm_match_weighted_pairs(bm_match *match, bm_error *err);

#endif
