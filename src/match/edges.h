/* edges.h -- what matching is asked for, what it finds, and the two ways in which pairs reach the
 * result: compared as candidates, or with their similarity. Under match.c and match_all_pairs.c. */
#ifndef BM_MATCH_EDGES_H
#define BM_MATCH_EDGES_H

#include <bandmill/types.h>

#include "base/meter.h"
#include "lsh/containment.h"
#include "lsh/keep_rank.h"
#include "lsh/union_find.h"
#include "corpus/corpus.h"
#include "match/known.h"
#include "spill/sorted_runs.h"

typedef struct bm_match_settings {
    bm_corpus *corpus;
    bm_pool *pool;
    bm_meter *meter;
    bm_verify verify;    /* never AUTO */
    bm_measure measure;  /* CONTAINMENT: of all candidates, EXACT */
    double threshold;    /* 0 with CONTAINED: all that is compared with a similarity is an edge */
    bm_share share;      /* of CONTAINED */
    bool only_groups;    /* edges are not stored, pairs that are joined already not verified */
    bool all_candidates; /* every pair that shares a shingle (exact) instead of those of a band */
    const bm_keep_rank *stars; /* only stars are wanted, in this order of turns: pairs of crowded
                                  buckets that they do not need are left out; NULL: every pair */
    const bm_known *known;     /* for grouping: ended; borrowed by it too; NULL: nothing is known */
} bm_match_settings;

/* With only_groups and verification, of each document the edge to the earliest document that has
 * one to it: the survivor of a group is often that one, and need not be compared once more. Else
 * the arrays are NULL. */
typedef struct bm_earlier_edges {
    uint32_t *docs; /* BM_NO_DOC: none */
    double *similarities;
} bm_earlier_edges;

typedef struct bm_match_counts {
    uint64_t candidates, verified, edges;
    uint64_t not_compared; /* with only_groups: pairs of crowded buckets, at most */
    double verify_seconds; /* of sorting and comparing, on all threads at once */
} bm_match_counts;

typedef struct bm_match_result {
    bm_band_keyset keys;   /* that the candidates came from; 0 bands without */
    bm_union_find groups;  /* of representatives, joined by the edges */
    bm_sorted_runs *edges; /* pairs of representatives that reach the threshold (model/pair_order.h:
                              key, value); NULL: there are none, or only_groups */
    bm_earlier_edges earlier;
    bm_match_counts counts;
} bm_match_result;

typedef struct bm_match {
    bm_match_settings settings;
    bm_match_result result; /* {0} before */
} bm_match;

/* A bm_candidates_fn, ctx is the bm_match: compare n candidates, take the edges among them. */
bm_status bm_edges_compare(void *ctx, bm_pair *pairs, size_t n, bm_error *err);
/* A bm_candidates_fn as well, for pairs that were compared: take the edges among them. */
bm_status bm_edges_found(void *ctx, bm_pair *pairs, size_t n, bm_error *err);
/* Pairs come with their similarity: those of n that reach the threshold, or whose
 * similarity is not known (NAN), are edges. They join groups, and are stored unless only groups are
 * wanted. */
bm_status bm_edges_take(bm_match *match, const bm_pair *pairs, size_t n, bm_error *err);

/* Read the edges that were found so far, by a, then b, from the first. */
bm_status bm_edges_begin(const bm_match *match, bm_error *err);
/* BM_NOT_FOUND (and no error) at the end. */
bm_status bm_edges_next(const bm_match *match, bm_pair *out, bm_error *err);
/* Open runs for edges, or for what is made of them: in memory half of the budget's share, and a
 * quarter of what is free. */
bm_status bm_edges_open_runs(const bm_corpus *corpus, bm_sorted_runs **out, bm_error *err);

#endif
