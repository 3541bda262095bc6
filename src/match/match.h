/* SPDX-License-Identifier: Apache-2.0 */
/* match.h -- candidates to edges and groups.
 *
 * Candidates come in chunks; their size and order do not depend on threads. With `only_groups` a
 * pair within one group is not enumerated, hence is no candidate in the counts, and crowded buckets
 * are refined (lsh/candidates.h): pairs that were left out are counted and reported. The same of
 * `stars` (edges.h), for which a document that is taken needs no pairs. */
#pragma once

#include "match/edges.h"

/* Fill in the settings, then run. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT (damaged temporary files),
 * BM_ERR_CANCELLED. */
bm_status bm_match_run(bm_match *match, bm_error *err);
void bm_match_reset(bm_match *match); /* the result is {0} again */
/* The first step of it, for those who bring edges along (checkpoint_state.h). */
bm_status bm_match_begin(bm_match *match, bm_error *err);
