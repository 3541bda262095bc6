/* candidates.h -- documents that share a band key, each pair once.
 *
 * A band's documents are bucketed by a hash table over its keys; pairs are emitted smaller number
 * first. A pair is emitted in the first band in which its keys agree and in no later one, which
 * needs no memory of pairs: earlier bands are simply looked at.
 *
 * bm_candidates emits every pair; order: band, then the bucket by its first document, then a, then
 * b. bm_candidates_join emits what is needed to know the connected components of the pairs that
 * `fn` verifies: a pair whose documents are already joined is left out, and a bucket costs time
 * linear in its size (bucket_join.h). Neither the order nor the chunks depend on threads. */
#ifndef BM_LSH_CANDIDATES_H
#define BM_LSH_CANDIDATES_H

#include "lsh/candidates_job.h"
#include "lsh/crowded_buckets.h"

/* job->groups is NULL. bm_progress through the callbacks, stage "bucket", unit "bands". */
bm_status bm_candidates(const bm_candidates_job *job, bm_error *err);

/* The pairs of buckets of up to BM_SMALL_BUCKET documents, a pair that agrees in several of them in the
 * first; the other buckets are kept in `crowded`. Where none is, these are the pairs of bm_candidates
 * in the same order. */
bm_status bm_candidates_of_small(const bm_candidates_job *job, bm_crowded_buckets *crowded,
                                 bm_error *err);

/* As bm_candidates, for components: before it returns, `fn` links in job->groups the documents of
 * each pair that it accepts. Where stats->n_cut is 0 afterwards, the components are those of all
 * candidates. 4 bytes a document more while a bucket of over 32 is at hand, and about 40 bytes a
 * document of that bucket. `stats` may be NULL. */
bm_status bm_candidates_join(const bm_candidates_job *job, bm_join_stats *stats, bm_error *err);

#endif
