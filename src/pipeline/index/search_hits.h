/* search_hits.h -- band keys of documents to the numbers that share one: the first half of a search. */
#ifndef BM_INDEX_SEARCH_HITS_H
#define BM_INDEX_SEARCH_HITS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/pool.h"
#include "store/store_view.h"

/* A document of the index and one that was asked for, number << 32 | place in the batch: in ascending order
 * they are in the order of the file. */
typedef struct bm_hit_list {
    uint64_t *list;
    size_t n, cap;
} bm_hit_list;

/* Hits of a batch in several lists, each ascending and without repeats; the same hit may stand in
 * several. */
typedef struct bm_search_hits {
    bm_hit_list *lists;
    size_t n_lists;
} bm_search_hits; /* {0} is empty */

#define BM_SEARCH_TOGETHER 4096u /* keys of a batch, or hits, that are worth waking threads for */

/* Documents to look up; borrowed. */
typedef struct bm_key_batch {
    const bm_store_view *view;
    bm_pool *pool; /* NULL: this thread alone */
    uint32_t bands;
    size_t n;
    const uint64_t *keys;       /* n * bands */
    const uint32_t *n_shingles; /* of each; 0: it finds nothing */
    const uint32_t *same;       /* as in bm_search_batch */
    size_t most;                /* hits */
    bool alone;                 /* one document is asked: there is no bound */
} bm_key_batch;

/* *many is set where there are more hits than `most`: nothing is filled then, and fewer documents must be
 * asked for at once. */
bm_status bm_search_look_up(const bm_key_batch *batch, bm_search_hits *out, bool *many,
                            bm_error *err);
void bm_search_hits_reset(bm_search_hits *hits);
/* Sort n hits, and drop repeats; what is left in *n. */
bm_status bm_hits_sort(uint64_t *list, size_t *n, bm_error *err);

#endif
