/* bucket_join.h -- the pairs of one large bucket that settle which of its documents are joined, in
 * time linear in its size.
 *
 * Not all pairs are enumerated, but those across the groups that there are already, so a bucket of
 * copies costs one comparison a document. Where these are at most bm_bucket_join_budget(n), all of
 * them are looked at, and the components are exactly those of all pairs. A bucket that has more is
 * refined:
 *
 *     a few representatives against all -> sub-buckets by the keys of later bands -> further
 *     representatives against all, until the budget is spent
 *
 * What was not looked at then is counted. */
#ifndef BM_LSH_BUCKET_JOIN_H
#define BM_LSH_BUCKET_JOIN_H

#include "lsh/candidate_walk.h"

typedef struct bm_bucket_join {
    bm_candidate_walk *walk; /* that the bucket at hand belongs to; borrowed */
    size_t n_docs;
    uint32_t *place; /* n_docs: the group of a root while grouping, else BM_NO_DOC */
    uint32_t *live;  /* the bucket's documents whose row is still to come, group after group */
    uint32_t *spent; /* the bucket's documents whose row was emitted */
    uint32_t *group; /* scratch: the group of each live document */
    uint32_t *other; /* scratch */
    uint32_t *begin; /* of each group in `live`, one more than groups */
    uint8_t *taken;  /* of each live document: it is about to be spent */
    uint8_t *had;    /* of each group: a document of it was spent */
    uint32_t *slots; /* of the table of sub-buckets */
    size_t cap, cap_slots, n_live, n_spent, n_groups;
    int64_t left; /* of the budget */
    bm_join_stats stats;
} bm_bucket_join;

/* Pairs of a bucket of n documents that may be looked at. */
int64_t bm_bucket_join_budget(size_t n);

/* Allocates nothing yet. */
void bm_bucket_join_init(bm_bucket_join *join, size_t n_docs);
void bm_bucket_join_reset(bm_bucket_join *join);
/* The bucket walk->members of walk->band, whose first document was compared with all others before.
 * BM_OK, BM_ERR_NOMEM, or what walk->fn says. */
bm_status bm_bucket_join_run(bm_bucket_join *join, bm_candidate_walk *walk, bm_error *err);

#endif
