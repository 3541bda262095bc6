/* SPDX-License-Identifier: Apache-2.0 */
/* finder.h -- finds the links between a few documents from their sets. The links are the pairs that
 * `dedup --pairs` would write, because only the two documents of a pair decide whether they are a
 * pair. Of several identical documents, the first is linked to each other one, as in `dedup`. */
#pragma once

#include <bandmill/sketch.h>

#include "model/stream_hash.h"

typedef struct bm_linked_sets {
    uint64_t *offsets;          /* n + 1 indexes into `hashes` */
    uint64_t *hashes;           /* distinct and ascending in each set */
    double *weights;            /* weight of each hash; NULL: no weights */
    const bm_hash128 *contents; /* content hash of each set; equal for identical documents */
    size_t n;                   /* number of sets, which are in input order */
} bm_linked_sets;

/* Called for each link. a < b < n; the similarity is rounded to six decimals. Any status except
 * BM_OK ends the search. */
typedef bm_status (*bm_set_link_fn)(void *ctx, bm_pair link, bm_error *err);
/* Find the links. The sets are borrowed and changed: the hashes and weights of copies are removed,
 * and the other sets are moved together. Returns the status of bm_find_pairs, or of `fn`. */
bm_status bm_set_links(const bm_find_options *options, const bm_linked_sets *sets,
                       bm_set_link_fn fn, void *ctx, bm_error *err);

/* Round a similarity to six decimals, as in output files. NAN stays NAN. */
double bm_six_decimals(double similarity);
