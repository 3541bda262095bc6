/* SPDX-License-Identifier: Apache-2.0 */
/* all_pairs.h -- every pair that shares a shingle and reaches the threshold: exact, without LSH
 * (--candidates all). */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/threads.h"
#include "lsh/candidates.h"
#include "lsh/prefix_index.h"

/* prefix_search -- finds, by the lists of a document's prefix, the documents that may reach the
 * threshold with it. */

/* The scratch of one thread. */
typedef struct bm_prefix_finder {
    const bm_sized_sets *docs;
    const bm_prefix_index *index;
    double factor; /* least share of |x| + |y|, or of |y|, that must be common */
    bool of_both;  /* true: `factor` is a share of |x| + |y|; false: of |y| */
    /* for each document of the block: equal to `stamp` if this search has met it */
    uint32_t *seen;
    uint32_t *found; /* positions of the documents found */
    size_t n_found;
    uint32_t stamp;
    /* without a store: keys of a document outside the block, and scratch, 2 * longest words in all;
     * with a store: a record */
    uint64_t *keys;
    size_t longest;
    size_t range;   /* range of the record in `keys`; SIZE_MAX: none */
} bm_prefix_finder; /* {0} is closed */

#define BM_PREFIX_FINDER_DOC 8u /* bytes of memory for each document of the block */

typedef struct bm_all_pairs_job {
    /* Sorted distinct sets: docs[i] points at sizes[i] hashes. NULL: the sets are not in memory.
     * Then `store` has the prefixes of the n_order documents of `order` (see bm_order_by_size), and
     * `fn` receives candidates without a similarity, which it must compare itself. */
    const uint64_t *const *docs;
    const bm_prefix_store *store;
    const uint32_t *order;
    size_t n_order;
    const uint32_t *sizes;
    const uint8_t *skip; /* non-zero: the document is left out; NULL: no document is left out */
    size_t n_docs;
    bm_join_rule rule;
    uint64_t memory; /* bytes that may be used besides the sets; 0: no bound */
    bm_pool *pool;   /* NULL: this thread alone */
    bm_candidates_fn fn;
    void *ctx;
    const bm_callbacks *callbacks; /* NULL: none */
} bm_all_pairs_job;

typedef struct bm_all_pairs_stats {
    /* pairs that were compared or, with a store, passed to `fn`: they share a key of their
     * prefixes, and neither sizes nor ranks rule them out */
    uint64_t n_compared;
    uint64_t n_blocks; /* indexes built, one after another */
    /* most memory that may be used, as counted beforehand; if job->memory is 0, the index only */
    uint64_t bytes;
} bm_all_pairs_stats;

/* Call `fn`, on this thread, with the pairs of similarity >= threshold, exact, a before b, in
 * chunks of at most 65,536. With a store, call `fn` with all pairs that may reach the threshold.
 * Each pair comes once. Pairs are not in the order of documents. Their order does not depend on
 * threads; if memory is bounded, it depends on which documents fit into a block. The set of pairs
 * and n_compared depend on neither. `stats` may be NULL. Progress is reported as stage "compare",
 * unit "documents". BM_ERR_USAGE: threshold or number of documents out of range. BM_ERR_NOMEM:
 * `memory` is too little, and the message says how much is needed. */
bm_status bm_all_pairs(const bm_all_pairs_job *job, bm_all_pairs_stats *stats, bm_error *err);
/* The least job->memory that is enough, for an index of few documents at a time. */
uint64_t bm_all_pairs_least(const bm_all_pairs_job *job);
