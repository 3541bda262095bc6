/* SPDX-License-Identifier: Apache-2.0 */
/* finder.h -- the links of a few documents, found again among their sets as `dedup` found them.
 * `dedup --pairs` would write the same pairs, since two documents alone decide if they are a pair.
 * Identical documents are links from the first of them to each other one, as there. */
#pragma once

#include <bandmill/sketch.h>

#include "model/stream_hash.h"

typedef struct bm_linked_sets {
    uint64_t *offsets;          /* n + 1, into hashes */
    uint64_t *hashes;           /* distinct and ascending in each set */
    double *weights;            /* beside them; NULL: there are none */
    const bm_hash128 *contents; /* of each: equal for identical documents */
    size_t n;                   /* in input order */
} bm_linked_sets;

/* a before b, both below n; the similarity has six decimals. Anything but BM_OK ends the search. */
typedef bm_status (*bm_set_link_fn)(void *ctx, bm_pair link, bm_error *err);
/* Borrows the sets, and moves their hashes and weights together: the hashes of copies are lost.
 * Returns the status of bm_find_pairs. */
bm_status bm_set_links(const bm_find_options *options, const bm_linked_sets *sets,
                       bm_set_link_fn fn, void *ctx, bm_error *err);

/* As our files have a similarity, which are read again; NAN stays. */
double bm_six_decimals(double similarity);
