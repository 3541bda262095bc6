/* SPDX-License-Identifier: Apache-2.0 */
/* finder.h -- finds the links between a few documents from their sets, with the same results as
 * `dedup`. `dedup --pairs` would write the same pairs, since whether two documents are a pair
 * depends on them alone. Identical documents are linked from the first of them to each other one,
 * as in `dedup`. */
#pragma once

#include <bandmill/sketch.h>

#include "model/stream_hash.h"

typedef struct bm_linked_sets {
    uint64_t *offsets;          /* n + 1, into hashes */
    uint64_t *hashes;           /* distinct and ascending in each set */
    double *weights;            /* beside the hashes; NULL: none */
    const bm_hash128 *contents; /* of each set: equal for identical documents */
    size_t n;                   /* number of sets, which are in input order */
} bm_linked_sets;

/* Called for each link: a before b, both below n; the similarity has six decimals. Any status
 * except BM_OK ends the search. */
typedef bm_status (*bm_set_link_fn)(void *ctx, bm_pair link, bm_error *err);
/* Find the links. The sets are borrowed; their hashes and weights are compacted, so the hashes of
 * copies are lost. Returns the status of bm_find_pairs, or of `fn`. */
bm_status bm_set_links(const bm_find_options *options, const bm_linked_sets *sets,
                       bm_set_link_fn fn, void *ctx, bm_error *err);

/* Round a similarity to the six decimals that our files have; NAN stays NAN. */
double bm_six_decimals(double similarity);
