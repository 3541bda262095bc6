/* rare_prefix.h -- the rarest shingles of each document, and who shares them: the index under
 * all_pairs.c. */
#ifndef BM_LSH_RARE_PREFIX_H
#define BM_LSH_RARE_PREFIX_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/pool.h"

/* Documents as sorted distinct sets, all borrowed; skip may be NULL. */
typedef struct bm_set_list {
    const uint64_t *const *docs;
    const uint32_t *sizes;
    const uint8_t *skip;
    size_t n_docs;
} bm_set_list;

/* One shingle of a document's prefix: which, and how many rarer ones the document has. */
typedef struct bm_prefix_item {
    uint32_t shingle, rank;
} bm_prefix_item;

/* One document of a shingle's list: which, and the shingle's rank in it. */
typedef struct bm_posting {
    uint32_t doc, rank;
} bm_posting;

typedef struct bm_rare_prefix {
    size_t *item_ends; /* n_docs: where each document's items end; the first begin at 0 */
    bm_prefix_item *items;
    size_t *list_begins;  /* n_shingles + 1 */
    bm_posting *postings; /* documents ascending in each list */
    size_t n_shingles;
} bm_rare_prefix;

/* The least c with (double)c / (double)n >= threshold, n if there is none: what a document of n
 * shingles must share with any other to reach the threshold. */
size_t bm_least_share(size_t n, double threshold);

/* Shingles are ranked by the number of documents that have them (ties: in any one order). Two
 * documents that reach the threshold share one of the first n - bm_least_share(n) + 1 shingles of
 * each; these are indexed, except those that one document alone has. */
bm_status bm_rare_prefix_build(bm_rare_prefix *out, const bm_set_list *sets, double threshold,
                               bm_pool *pool, bm_error *err);
void bm_rare_prefix_reset(bm_rare_prefix *index);

#endif
