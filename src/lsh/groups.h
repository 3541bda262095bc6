/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h -- verified pairs become groups: components or stars, and which document of a group
 * stays. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "lsh/link_graph.h"

/* union_find -- merge verified pairs into groups. The smaller number is the root, so labels do
 * not depend on the order of the pairs. */

typedef struct bm_union_find {
    uint32_t *parent;
    size_t n;
} bm_union_find;

bm_status bm_union_find_init(bm_union_find *sets, size_t n, bm_error *err);
void bm_union_find_reset(bm_union_find *sets);
/* The smallest document of the group; shortens the path to it. Any number of threads may call this
 * at once, while none links. */
uint32_t bm_union_find_root(bm_union_find *sets, uint32_t doc);
/* Merge the groups of two documents; false: they were in one already. */
bool bm_union_find_link(bm_union_find *sets, uint32_t a, uint32_t b);

/* keep_rank -- the order of preference: the rank of each document among all; of two, the one with
 * the lower rank is kept.
 *
 * Whatever the rules are, they are reduced to one number for each document before groups are made;
 * nothing afterwards depends on the rules themselves. No two documents have the same rank: where no
 * rule decides, the first in the input is preferred. */

typedef struct bm_keep_rank {
    uint32_t *ranks; /* rank of each document; the smaller is kept. NULL: as in the input */
    size_t n;
    bool none;  /* no document of a group is kept; stars still have their turns in order of rank */
} bm_keep_rank; /* {0} is the order of the input */

/* A number for each document, by which documents are ranked. */
typedef struct bm_keep_column {
    const void *first; /* the number of document 0; borrowed */
    size_t stride;     /* bytes to the member of the next document */
    size_t width;      /* 8: uint64_t; 4: uint32_t */
    bool greatest;     /* the greatest number is preferred; else the least */
} bm_keep_column;

typedef struct bm_keep_order {
    const bm_keep_column *columns; /* the first column that differs decides; borrowed */
    size_t n_columns;
    bool last; /* where none decides, the last in the input is preferred */
} bm_keep_order;

/* Rank n documents. Linear. Takes 8 bytes a document, and keeps 4 of them. BM_ERR_NOMEM, and `out`
 * is {0}. */
bm_status bm_keep_rank_make(const bm_keep_order *order, size_t n, bm_keep_rank *out, bm_error *err);
/* The order of one rule. `sizes` is the column of lengths of texts (its `greatest` is ignored), for
 * LONGEST and SHORTEST. */
bm_status bm_keep_rank_of_rule(bm_keep keep, const bm_keep_column *sizes, size_t n,
                               bm_keep_rank *out, bm_error *err);
void bm_keep_rank_reset(bm_keep_rank *rank);

static inline uint32_t bm_keep_rank_of(const bm_keep_rank *rank, uint32_t doc)
{
    return rank->ranks != NULL ? rank->ranks[doc] : doc;
}

/* Set best[x], for x < n, to the preferred one of the documents with owner x; UINT32_MAX: there is
 * none. */
void bm_keep_rank_best(const bm_keep_rank *rank, const uint32_t *owner, size_t n, uint32_t *best);

/* turns -- the order in which documents take their turns as centres of stars.
 *
 * Copies have one turn together: the turn of their representative, at the rank of the preferred
 * copy. */

typedef struct bm_turns {
    uint32_t *best;    /* of each representative: the preferred one among itself and its copies;
                        * n */
    uint32_t *order;   /* representatives, preferred first; n_order */
    uint32_t *centres; /* of each representative: its centre; all BM_NOT_TAKEN at first; n */
    size_t n, n_order;
} bm_turns;

/* `rep`: of each of n documents, the first of its copies; NULL: no two are copies. BM_ERR_NOMEM,
 * and `out` is empty. */
bm_status bm_turns_make(const bm_keep_rank *rank, const uint32_t *rep, size_t n, bm_turns *out,
                        bm_error *err);
void bm_turns_reset(bm_turns *turns);

/* stars -- groups in which every document is joined to the one in the middle.
 *
 * Documents take their turn in a given order. One that is not yet taken when its turn comes becomes
 * a centre and takes its neighbours that are not yet taken. So each document is a neighbour of its
 * centre, and no two centres are neighbours. */

#define BM_NOT_TAKEN UINT32_MAX /* the centre of a document before it is taken */

/* The two steps, for neighbours that are not in memory. First, a document's turn: does it become a
 * centre? */
static inline bool bm_star_begin(uint32_t *centres, uint32_t doc)
{
    if (centres[doc] != BM_NOT_TAKEN)
        return false;
    centres[doc] = doc;
    return true;
}

static inline void bm_star_assign(uint32_t *centres, uint32_t centre, uint32_t neighbour)
{
    if (centres[neighbour] == BM_NOT_TAKEN)
        centres[neighbour] = centre;
}

/* Stars over all documents of a list of pairs. `order` has each of them once; NULL: ascending.
 * `centres`: list.n_docs, filled. BM_ERR_NOMEM, and `centres` is unchanged. */
bm_status bm_stars(bm_pair_list list, const uint32_t *order, uint32_t *centres, bm_error *err);

/* pair_groups -- the groups that a list of pairs makes: components at several thresholds side by
 * side, or stars.
 *
 * Components: a union-find for each threshold, fed as the pairs come; no pair stays in memory.
 * Groups nest: two documents that are joined at a threshold are joined at every lower one. So a
 * pair walks from the highest threshold that it reaches down to the first at which its ends are
 * joined already. The whole cost is a look at each pair and a link for each merge: it hardly grows
 * with the number of thresholds. Memory is 4 bytes a document and threshold.
 *
 * Stars depend on all pairs of a document, so all pairs must be in memory. Pure; one thread. */

typedef struct bm_pair_level {
    double threshold;
    size_t place;      /* its place in the caller's list of thresholds */
    uint64_t first_at; /* pairs for which this is the highest threshold that they reach */
    bm_union_find sets;
    size_t cap;
} bm_pair_level;

typedef struct bm_pair_levels {
    bm_pair_level *levels; /* thresholds descending */
    size_t n;
} bm_pair_levels; /* {0} has none */

/* Open a level for each of n thresholds; 0: one level, which all pairs reach. BM_ERR_NOMEM, and
 * `out` is empty. */
bm_status bm_pair_levels_open(const double *thresholds, size_t n, bm_pair_levels *out,
                              bm_error *err);
void bm_pair_levels_reset(bm_pair_levels *levels);
/* Count a pair, also one of unknown similarity (NAN: it counts everywhere). Returns the highest
 * level that it reaches, levels->n: none. */
size_t bm_pair_levels_count(bm_pair_levels *levels, double similarity);
/* Join the two documents of a pair at level `at` and below. n_docs: documents seen so far, some
 * maybe in no pair yet. */
bm_status bm_pair_levels_join(bm_pair_levels *levels, size_t at, uint32_t a, uint32_t b,
                              size_t n_docs, bm_error *err);

/* Stars as dedup makes them: copies have one turn, and join the same star as the first of them.
 * labels[i] is the document kept from the star of document i. `rep`: of each document the first of
 * its copies; NULL: no two are copies. */
bm_status bm_pair_stars(bm_pair_list pairs, const bm_keep_rank *rank, const uint32_t *rep,
                        uint32_t *labels, bm_error *err);

typedef struct bm_group_counts {
    uint64_t groups, largest, removed; /* groups of two documents and more */
} bm_group_counts;

/* Count the groups. labels[i] is a number below n, the same for all documents of a group. */
bm_status bm_group_counts_of(const uint32_t *labels, size_t n, bm_group_counts *out, bm_error *err);
