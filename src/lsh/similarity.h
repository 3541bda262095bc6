/* SPDX-License-Identifier: Apache-2.0 */
/* similarity.h -- how similar two documents are, by their sets or by their signatures. All code
 * that compares documents calls this.
 *
 * Pure functions; any thread. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "lsh/verify.h"
#include "model/scheme_facts.h"

typedef struct bm_similarity_rule {
    bm_verify verify;   /* EXACT and CONTAINED compare sets, SIGNATURE words; NONE: always NAN */
    bm_measure measure; /* EXACT, of sets without weights */
    bool weighted;      /* sets have weights: EXACT compares these */
    bm_word_rows words; /* SIGNATURE: the form of both signatures */
    double threshold;   /* a lower similarity becomes a negative number; 0: it never does */
    bm_share share;     /* CONTAINED: if neither document holds this share of the other, the
                         * similarity becomes a negative number */
} bm_similarity_rule;

/* One of the two documents: the words of its signature, or its set, which is sorted and distinct.
 * The weights of a set follow its hashes. */
typedef struct bm_compared {
    const void *data;
    uint32_t n; /* hashes of the set */
} bm_compared;

double bm_similarity(const bm_similarity_rule *rule, bm_compared x, bm_compared y);

/* A set with its weights after its n hashes. */
static inline bm_weighted_set bm_weighted_set_at(const void *set, size_t n)
{
    const uint64_t *hashes = set;
    return (bm_weighted_set){hashes, n > 0 ? (const void *)(hashes + n) : NULL, n};
}

/* The share of the words on which two signatures agree. */
double bm_signature_agreement(const uint32_t *x, const uint32_t *y, bm_word_rows rows);
