/* SPDX-License-Identifier: Apache-2.0 */
/* all_pairs.h -- finds every pair that shares a shingle and reaches the threshold. The result is
 * exact; no LSH is used (--candidates all). */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/threads.h"
#include "lsh/candidates.h"
#include "lsh/prefix_index.h"

/* prefix_search -- finds the documents that may reach the threshold with a document, by looking up
 * the document's prefix. */

/* The work memory of one thread. */
typedef struct bm_prefix_finder {
    const bm_sized_sets *docs;
    const bm_prefix_index *index;
    double factor; /* least share of |x| + |y|, or of |y|, that must be common */
    bool of_both;  /* true: `factor` is a share of |x| + |y|; false: of |y| */
    /* for each document of the block: equal to `stamp` if the current search has met the
     * document */
    uint32_t *seen;
    uint32_t *found; /* positions of the documents found */
    size_t n_found;
    uint32_t stamp;
    /* with a store: a record. Without a store: the keys of a document outside the block, and
     * scratch; together 2 * longest words */
    uint64_t *keys;
    size_t longest;
    size_t range;   /* number of the range whose record is in `keys`; SIZE_MAX: none is */
} bm_prefix_finder; /* {0} is closed */

#define BM_PREFIX_FINDER_DOC 8u /* bytes of memory for each document of the block */

typedef struct bm_all_pairs_job {
    /* Sorted distinct sets: docs[i] points at sizes[i] hashes. NULL: the sets are not in memory. In
     * that case `store` must have the prefixes of the n_order documents of `order` (see
     * bm_order_by_size), and `fn` receives candidates without a similarity, which `fn` must compare
     * itself. */
    const uint64_t *const *docs;
    const bm_prefix_store *store;
    const uint32_t *order;
    size_t n_order;
    const uint32_t *sizes;
    const uint8_t *skip; /* non-zero: the document is left out; NULL: no document is left out */
    size_t n_docs;
    bm_join_rule rule;
    uint64_t memory; /* bytes that may be used besides the sets; 0: no bound */
    bm_pool *pool;   /* NULL: only the calling thread */
    bm_candidates_fn fn;
    void *ctx;
    const bm_callbacks *callbacks; /* NULL: none */
} bm_all_pairs_job;

typedef struct bm_all_pairs_stats {
    /* pairs that were compared or, with a store, passed to `fn`. They share a key of their
     * prefixes, and neither their sizes nor the ranks of the key exclude them */
    uint64_t n_compared;
    uint64_t n_blocks; /* indexes built, one after another */
    /* upper bound of the memory that is used, as counted beforehand; if job->memory is 0, of the
     * index only */
    uint64_t bytes;
} bm_all_pairs_stats;

/* Call `fn` on this thread with all pairs of similarity >= threshold. The result is exact. Each
 * pair comes once, with a before b, in chunks of at most 65,536 pairs. With a store, `fn` is called
 * with all pairs that may reach the threshold.
 *
 * Pairs do not come in the order of the documents. Their order does not depend on threads. If
 * memory is bounded, it depends on which documents fit into a block. The set of pairs and
 * n_compared depend on neither threads nor memory.
 *
 * `stats` may be NULL. Progress is reported as stage "compare", unit "documents". BM_ERR_USAGE: the
 * threshold or the number of documents is out of range. BM_ERR_NOMEM: `memory` is too little, and
 * the message says how much is needed. */
bm_status bm_all_pairs(const bm_all_pairs_job *job, bm_all_pairs_stats *stats, bm_error *err);
/* Return the least job->memory that suffices: it allows an index of a few documents at a time. */
uint64_t bm_all_pairs_least(const bm_all_pairs_job *job);
