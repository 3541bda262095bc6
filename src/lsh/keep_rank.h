/* keep_rank.h -- the order of keeping: of each document its place among all, the one that is rather kept first.
 *
 * Whatever rules decide, they come down to one number a document before groups are made, and nothing afterwards
 * asks which rules there were. No two documents have the same rank: where no rule decides, the first in the input
 * is preferred. */
#ifndef BM_LSH_KEEP_RANK_H
#define BM_LSH_KEEP_RANK_H

#include <bandmill/types.h>

typedef struct bm_keep_rank {
    uint32_t
        *ranks; /* of each document; the smaller is kept. NULL: documents rank as in the input */
    size_t n;
    bool none; /* no document of a group is kept; the ranks order the turns of stars all the same */
} bm_keep_rank; /* {0} is the order of the input */

/* A number of each document by which it is ranked. */
typedef struct bm_keep_column {
    const void *first; /* of document 0; borrowed */
    size_t stride;     /* bytes to that of the next document */
    size_t width;      /* 8: uint64_t; 4: uint32_t */
    bool greatest;     /* the greatest number is preferred; else the least */
} bm_keep_column;

typedef struct bm_keep_order {
    const bm_keep_column *columns; /* the first that differs decides; borrowed */
    size_t n_columns;
    bool last; /* where none decides, the last in the input is preferred */
} bm_keep_order;

/* Rank n documents. Linear; 8 bytes a document, 4 of which stay. BM_ERR_NOMEM, and `out` is {0}. */
bm_status bm_keep_rank_make(const bm_keep_order *order, size_t n, bm_keep_rank *out, bm_error *err);
/* The order of one rule. `sizes` is the column of lengths of texts (its `greatest` does not count), for LONGEST and
 * SHORTEST. */
bm_status bm_keep_rank_of_rule(bm_keep keep, const bm_keep_column *sizes, size_t n,
                               bm_keep_rank *out, bm_error *err);
void bm_keep_rank_reset(bm_keep_rank *rank);

static inline uint32_t bm_keep_rank_of(const bm_keep_rank *rank, uint32_t doc)
{
    return rank->ranks != NULL ? rank->ranks[doc] : doc;
}

/* best[x] = the preferred of the documents whose owner is x, UINT32_MAX: none; n, filled. */
void bm_keep_rank_best(const bm_keep_rank *rank, const uint32_t *owner, size_t n, uint32_t *best);

#endif
