/* SPDX-License-Identifier: Apache-2.0 */
/* match.h -- from candidates to edges and groups.
 *
 * Candidates come in chunks, whose size and order do not depend on threads. With `only_groups`, a
 * pair of documents in one group is not enumerated, so it is not counted as a candidate; and
 * crowded buckets are refined (lsh/candidates.h), where skipped pairs are counted and reported.
 * With `stars` (edges.h), no pairs are enumerated for documents that a star has taken; skipped
 * pairs are counted too. */
#pragma once

#include "match/edges.h"

/* Fill in match->settings, then call this. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT (damaged
 * temporary files), BM_ERR_CANCELLED. */
bm_status bm_match_run(bm_match *match, bm_error *err);
void bm_match_reset(bm_match *match); /* the result becomes {0} */
/* The part of bm_match_run that prepares the corpus and the result, for callers that restore saved
 * edges (checkpoint_state.h). */
bm_status bm_match_begin(bm_match *match, bm_error *err);
