/* match.h -- candidates to edges: sort what is needed, compare, keep what reaches the threshold.
 *
 * Candidates come in chunks whose size and order do not depend on threads. With `only_groups` a
 * pair whose ends are already in one group is not enumerated, hence no candidate in the counts, and
 * crowded buckets are refined (lsh/bucket_join.h): what was left out is counted and said. */
#ifndef BM_MATCH_MATCH_H
#define BM_MATCH_MATCH_H

#include <bandmill/types.h>

#include "lsh/union_find.h"
#include "pipeline/corpus/corpus.h"
#include "base/meter.h"
#include "spill/sorted_runs.h"

typedef struct bm_match {
    bm_corpus *corpus;
    bm_pool *pool;
    bm_meter *meter;
    bm_verify verify; /* never AUTO */
    double threshold;
    bool only_groups;    /* edges are not kept, joined pairs not verified */
    bool all_candidates; /* every pair that shares a shingle (exact) */
    bm_band_keyset keys; /* that the candidates came from; 0 bands without */
    bm_union_find groups;
    /* With only_groups and verification, of each document an edge to an earlier one, so that few of
     * those removed are compared once more: BM_NO_DOC where there is none. Else NULL. */
    uint32_t *earlier;
    double *to_earlier; /* the similarity */
    bm_pair *edges;     /* ordered by a, then b, after bm_match_run; empty with only_groups */
    size_t n_edges, cap_edges;
    bm_sorted_runs *edge_runs; /* instead of `edges` where these would pass the budget: key a << 32
                                  | b, value the bits of the similarity; else NULL */
    uint64_t n_candidates, n_verified, n_edges_found;
    double verify_seconds;   /* of sorting and comparing, on all threads at once */
    uint64_t n_not_compared; /* with only_groups: pairs of crowded buckets, at most */
} bm_match;

/* Fill in the first seven fields, then run. */
bm_status bm_match_run(bm_match *match, bm_error *err);
void bm_match_reset(bm_match *match);
/* The first and the last step of it, for those who bring edges along (checkpoint_matches.h). */
bm_status bm_match_begin(bm_match *match, bm_error *err);
void bm_match_end(bm_match *match);
/* A bm_candidates_fn, ctx is the bm_match: compare n candidates, keep the edges among them. */
bm_status bm_match_candidates(void *ctx, bm_pair *pairs, size_t n, bm_error *err);
/* Keep those of n pairs that reach the threshold: as edges, with only_groups as groups. */
bm_status bm_match_add(bm_match *match, const bm_pair *pairs, size_t n, bm_error *err);
/* The bits of a similarity, and back, for records of edges. */
uint64_t bm_edge_bits(double similarity);
double bm_edge_similarity(uint64_t bits);
/* For qsort and bsearch of bm_pair: by a, then b. */
int bm_pair_by_place(const void *x, const void *y);

#endif
