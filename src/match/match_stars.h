/* match_stars.h -- the edges that stars need: those of small buckets, and of crowded ones those of
 * each centre with the documents that nobody took before its turn. */
#ifndef BM_MATCH_MATCH_STARS_H
#define BM_MATCH_MATCH_STARS_H

#include "lsh/candidates_job.h"
#include "match/edges.h"

/* settings.stars says who has its turn first. `job`: of the search, with the keys of the result.
 * Grouping makes the same stars of these edges as of those of all candidates, where stats->n_cut is
 * 0. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT, BM_ERR_CANCELLED. */
bm_status bm_match_stars(bm_match *match, const bm_candidates_job *job, bm_join_stats *stats,
                         bm_error *err);

#endif
