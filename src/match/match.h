/* SPDX-License-Identifier: Apache-2.0 */
/* match.h -- from candidates to edges and groups.
 *
 * Candidates come in chunks, whose size and order do not depend on threads. With `only_groups` a
 * pair within one group is not enumerated, so it is not counted as a candidate, and crowded buckets
 * are refined (lsh/candidates.h): skipped pairs are counted and reported. The same holds for
 * `stars` (edges.h), where a document that is taken needs no more pairs. */
#pragma once

#include "match/edges.h"

/* Fill in the settings, then run. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT (damaged temporary files),
 * BM_ERR_CANCELLED. */
bm_status bm_match_run(bm_match *match, bm_error *err);
void bm_match_reset(bm_match *match); /* the result becomes {0} */
/* The first step of bm_match_run, for callers that restore saved edges (checkpoint_state.h). */
bm_status bm_match_begin(bm_match *match, bm_error *err);
