/* SPDX-License-Identifier: Apache-2.0 */
/* similarity.h -- computes how similar two documents are, by their sets or by their signatures. All
 * comparisons of documents are made here.
 *
 * Pure functions; any thread. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "lsh/verify.h"
#include "model/scheme_facts.h"

typedef struct bm_similarity_rule {
    bm_verify verify;   /* EXACT and CONTAINED compare sets, SIGNATURE words; NONE: always NAN */
    bm_measure measure; /* for EXACT without weights */
    bool weighted;      /* for EXACT: the sets have weights, and the weighted similarity is
                           computed */
    bm_word_rows words; /* for SIGNATURE: the form of both signatures */
    double threshold;   /* if a similarity is lower, the result is negative; not used by
                           CONTAINED */
    /* for CONTAINED: if neither document has this share of the other, the result is negative */
    bm_share share;
} bm_similarity_rule;

/* One of the two documents: the words of its signature, or its set, sorted and distinct. The
 * weights of a set, if any, follow its hashes. */
typedef struct bm_compared {
    const void *data;
    uint32_t n; /* number of hashes of the set; unused for a signature */
} bm_compared;

double bm_similarity(const bm_similarity_rule *rule, bm_compared x, bm_compared y);

/* The set of n hashes at `set`, which are followed by their n weights. */
static inline bm_weighted_set bm_weighted_set_at(const void *set, size_t n)
{
    const uint64_t *hashes = set;
    return (bm_weighted_set){hashes, n > 0 ? (const void *)(hashes + n) : NULL, n};
}
