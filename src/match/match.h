/* SPDX-License-Identifier: Apache-2.0 */
/* match.h -- makes edges and groups from candidates.
 *
 * Candidates come in chunks. The size and the order of chunks do not depend on threads. With
 * `only_groups`, pairs of documents that are in one group already are not enumerated, so they do
 * not count as candidates. Crowded buckets are refined then (lsh/candidates.h), and pairs that
 * refining skips are counted and reported. With `stars` (edges.h), no pairs are enumerated for
 * documents that a star has taken; skipped pairs are counted in this case too. */
#pragma once

#include "match/edges.h"

/* Find the pairs or groups. match->settings must be filled in. BM_ERR_NOMEM, BM_ERR_IO,
 * BM_ERR_FORMAT (damaged temporary files), BM_ERR_CANCELLED. */
bm_status bm_match_run(bm_match *match, bm_error *err);
void bm_match_reset(bm_match *match); /* the result becomes {0} */
/* The part of bm_match_run that prepares the corpus and the result. Callers that restore saved
 * edges use it (checkpoint_state.h). */
bm_status bm_match_begin(bm_match *match, bm_error *err);
