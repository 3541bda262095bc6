/* prefix_search.h -- who may reach the threshold with a document: the lists of its prefix, read. */
#ifndef BM_LSH_PREFIX_SEARCH_H
#define BM_LSH_PREFIX_SEARCH_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "lsh/prefix_index.h"

/* The scratch of one thread. */
typedef struct bm_prefix_finder {
    const bm_sized_sets *docs;
    const bm_prefix_index *index;
    double factor;   /* of |x| + |y|, or of |y| alone: what must be shared at least */
    bool of_both;    /* of |x| + |y| */
    uint32_t *seen;  /* a document of the block; equal to `stamp`: was met */
    uint32_t *found; /* positions */
    size_t n_found;
    uint32_t stamp;
    uint64_t *keys; /* of a document outside the block, with scratch: 2 * longest; or a record of
                       the store */
    size_t longest;
    size_t range;   /* whose record it is; SIZE_MAX: none */
} bm_prefix_finder; /* {0} is closed */

#define BM_PREFIX_FINDER_DOC 8u /* bytes for each document of the block */

/* Bytes beside those, where the longest document has n shingles; `store` as in bm_sized_sets. */
uint64_t bm_prefix_finder_bytes(const bm_prefix_store *store, size_t n);
bm_status bm_prefix_finder_open(bm_prefix_finder *finder, const bm_sized_sets *docs,
                                const bm_prefix_index *index, bm_error *err);
void bm_prefix_finder_close(bm_prefix_finder *finder);

/* Fill `found` with the positions before x of the block's documents that may reach the threshold
 * with the document at x, each once; no other of the block's can. In the order of the keys by which
 * they meet, then of positions. x is not before the block.
 * BM_OK; what the store says. */
bm_status bm_prefix_find(bm_prefix_finder *finder, size_t x, bm_error *err);

#endif
