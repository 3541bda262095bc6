/* pair_groups.h -- the groups that a list of pairs makes: components at several thresholds side by side, or stars.
 *
 * Components: a union-find for each threshold, fed as the pairs come; no pair stays in memory. Groups nest: two documents that are
 * joined at a threshold are joined at every lower one. So a pair walks from the highest threshold that it reaches down to the first
 * at which its ends are joined already. The whole cost is a look at each pair and a link for each merge: it hardly grows with the
 * number of thresholds. Memory is 4 bytes a document and threshold.
 *
 * Stars depend on all pairs of a document, which therefore have to be there. Pure; one thread. */
#ifndef BM_LSH_PAIR_GROUPS_H
#define BM_LSH_PAIR_GROUPS_H

#include "lsh/keep_rank.h"
#include "lsh/neighbours.h"
#include "lsh/union_find.h"

typedef struct bm_pair_level {
    double threshold;
    size_t place;      /* among the thresholds as they were given */
    uint64_t first_at; /* pairs for which this is the highest threshold that they reach */
    bm_union_find sets;
    size_t cap;
} bm_pair_level;

typedef struct bm_pair_levels {
    bm_pair_level *levels; /* thresholds descending */
    size_t n;
} bm_pair_levels; /* {0} has none */

/* At n thresholds; 0: at one, which all pairs reach. BM_ERR_NOMEM, and `out` is empty. */
bm_status bm_pair_levels_open(const double *thresholds, size_t n, bm_pair_levels *out,
                              bm_error *err);
void bm_pair_levels_reset(bm_pair_levels *levels);
/* Count a pair, whose similarity may be unknown (NAN: it counts everywhere); the highest level that it reaches, levels->n: none. */
size_t bm_pair_levels_count(bm_pair_levels *levels, double similarity);
/* Join its documents there and below. There are n_docs of them so far, some maybe in no pair yet. */
bm_status bm_pair_levels_join(bm_pair_levels *levels, size_t at, uint32_t a, uint32_t b,
                              size_t n_docs, bm_error *err);

/* Stars as dedup makes them: copies have one turn, and go where the first of them goes. labels[i] is the document that is kept of the
 * star of document i. `rep`: of each document the first of its copies; NULL: no two are copies. */
bm_status bm_pair_stars(bm_pair_list pairs, const bm_keep_rank *rank, const uint32_t *rep,
                        uint32_t *labels, bm_error *err);

typedef struct bm_group_counts {
    uint64_t groups, largest, removed; /* of two documents and more */
} bm_group_counts;

/* labels[i]: a number below n, which all documents of the group of i have. */
bm_status bm_group_counts_of(const uint32_t *labels, size_t n, bm_group_counts *out, bm_error *err);

#endif
