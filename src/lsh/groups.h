/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h -- makes groups (components or stars) from verified pairs, and chooses which document of
 * each group is kept. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "lsh/link_graph.h"

/* union_find -- merges verified pairs into groups. The smallest document of a group is its root, so
 * labels do not depend on the order of the pairs. */

typedef struct bm_union_find {
    uint32_t *parent;
    size_t n;
} bm_union_find;

bm_status bm_union_find_init(bm_union_find *sets, size_t n, bm_error *err);
void bm_union_find_reset(bm_union_find *sets);
/* Return the smallest document of the group of `doc`, and shorten the path from `doc` to it. While
 * no thread links, any number of threads may call this at once. */
uint32_t bm_union_find_root(bm_union_find *sets, uint32_t doc);
/* Merge the groups of two documents. Returns false if they were already in one group. */
bool bm_union_find_link(bm_union_find *sets, uint32_t a, uint32_t b);

/* keep_rank -- the order of preference. Each document has a rank. Of two documents, the one with
 * the lower rank is kept.
 *
 * Before groups are made, all keep rules are reduced to these ranks, and nothing later depends on
 * the rules. No two documents have the same rank: if no rule decides, the document that comes first
 * in the input is preferred, or with bm_keep_order.last the one that comes last. */

typedef struct bm_keep_rank {
    /* rank of each document; lower ranks are preferred. NULL: the order of the input */
    uint32_t *ranks;
    size_t n;
    bool none;  /* no document of a group is kept; stars are still made in the order of ranks */
} bm_keep_rank; /* {0} is the order of the input */

/* A number for each document. It is read in any order, so the array should be in memory. */
typedef struct bm_keep_column {
    const void *numbers; /* an array of n numbers; borrowed */
    size_t width;        /* 8: uint64_t; 4: uint32_t */
    bool greatest;       /* true: the greatest number is preferred; false: the least */
} bm_keep_column;

typedef struct bm_keep_order {
    /* the first column in which two documents differ decides; borrowed */
    const bm_keep_column *columns;
    size_t n_columns;
    bool last; /* if no column decides: true prefers the last document in the input, false the
                  first */
} bm_keep_order;

/* Rank n documents, in linear time. This takes 8 bytes a document, of which the ranks keep 4. If
 * the order is that of the input, *out is {0}. BM_ERR_NOMEM; *out is then {0} too. */
bm_status bm_keep_rank_make(const bm_keep_order *order, size_t n, bm_keep_rank *out, bm_error *err);
/* Rank n documents by one rule. LONGEST and SHORTEST use `sizes`, the column of the texts' lengths.
 * sizes->greatest is ignored. */
bm_status bm_keep_rank_of_rule(bm_keep keep, const bm_keep_column *sizes, size_t n,
                               bm_keep_rank *out, bm_error *err);
void bm_keep_rank_reset(bm_keep_rank *rank);

static inline uint32_t bm_keep_rank_of(const bm_keep_rank *rank, uint32_t doc)
{
    return rank->ranks != NULL ? rank->ranks[doc] : doc;
}

/* For each x < n, set best[x] to the preferred document among those with owner[doc] == x, or to
 * UINT32_MAX if there are none. */
void bm_keep_rank_best(const bm_keep_rank *rank, const uint32_t *owner, size_t n, uint32_t *best);

/* turns -- the order in which documents may become centres of stars. A document's turn is when it
 * may become a centre.
 *
 * Copies share one turn: their representative takes it, at the rank of the preferred copy. */

typedef struct bm_turns {
    /* n entries; for each representative: the document that is preferred among its copies, which
     * include itself */
    uint32_t *best;
    uint32_t *order; /* n_order representatives, preferred first */
    /* n entries; for each representative: its centre; BM_NOT_TAKEN at first */
    uint32_t *centres;
    size_t n, n_order;
} bm_turns;

/* rep[i] is the first copy of document i, or i itself. NULL: no two documents are copies.
 * BM_ERR_NOMEM; *out is then empty. */
bm_status bm_turns_make(const bm_keep_rank *rank, const uint32_t *rep, size_t n, bm_turns *out,
                        bm_error *err);
void bm_turns_reset(bm_turns *turns);

/* stars -- groups in which every document is a neighbour of the group's centre.
 *
 * Documents are visited in a given order, each in its turn. If no centre has taken the document, it
 * becomes a centre, and takes those of its neighbours that are not taken yet. So no two centres are
 * neighbours. */

#define BM_NOT_TAKEN UINT32_MAX /* stands for the centre of a document that no star has taken */

/* A turn in two steps, for callers that do not have the neighbours in memory. This is the first
 * step: does `doc` become a centre? */
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

/* Make stars over all documents of a list of pairs. `order` has each document once; NULL: ascending
 * order. Fills centres[0 … list.n_docs-1]. BM_ERR_NOMEM; `centres` is then unchanged. */
bm_status bm_stars(bm_pair_list list, const uint32_t *order, uint32_t *centres, bm_error *err);

/* pair_groups -- the groups that a list of pairs makes: components at several thresholds at once,
 * or stars.
 *
 * Components: each threshold has a union-find, which is updated as the pairs come. No pair stays in
 * memory. Two documents that are joined at a threshold are joined at every lower threshold. So a
 * pair is linked at the highest threshold that it reaches, and then at lower thresholds, until one
 * at which its documents are already joined. The total work is one step for each pair and one link
 * for each merge, so it hardly grows with the number of thresholds. Memory is 4 bytes for each
 * document and threshold.
 *
 * Stars depend on all pairs of a document, so all pairs must be in memory. Pure; one thread. */

typedef struct bm_pair_level {
    double threshold;
    size_t place;      /* index in the caller's array of thresholds */
    uint64_t first_at; /* number of pairs that reach this threshold, but no higher one */
    bm_union_find sets;
    size_t cap;
} bm_pair_level;

typedef struct bm_pair_levels {
    bm_pair_level *levels; /* in order of descending thresholds */
    size_t n;
} bm_pair_levels; /* {0} has no level */

/* Open a level for each of n thresholds. If n is 0, open one level, with threshold 0. BM_ERR_NOMEM;
 * *out is then empty. */
bm_status bm_pair_levels_open(const double *thresholds, size_t n, bm_pair_levels *out,
                              bm_error *err);
void bm_pair_levels_reset(bm_pair_levels *levels);
/* Count a pair at the highest level that it reaches. Returns the index of that level, or levels->n
 * if the pair reaches no level. An unknown similarity (NaN) reaches every level. */
size_t bm_pair_levels_count(bm_pair_levels *levels, double similarity);
/* Join the two documents of a pair at level `at`, and at all levels after it, whose thresholds are
 * lower. n_docs: the number of documents so far, including those that are in no pair yet. */
bm_status bm_pair_levels_join(bm_pair_levels *levels, size_t at, uint32_t a, uint32_t b,
                              size_t n_docs, bm_error *err);

/* Make stars as dedup does: copies share one turn, and join the star of the first copy. labels[i]
 * becomes the document that is kept from the star of document i. rep[i] is the first copy of
 * document i. NULL: no two documents are copies. */
bm_status bm_pair_stars(bm_pair_list pairs, const bm_keep_rank *rank, const uint32_t *rep,
                        uint32_t *labels, bm_error *err);

typedef struct bm_group_counts {
    /* groups: number of groups of two or more documents; largest: size of the largest group;
     * removed: number of documents in these groups, not counting one of each group */
    uint64_t groups, largest, removed;
} bm_group_counts;

/* Count the groups. labels[i] is a number below n; the documents of a group have the same
 * number. */
bm_status bm_group_counts_of(const uint32_t *labels, size_t n, bm_group_counts *out, bm_error *err);
