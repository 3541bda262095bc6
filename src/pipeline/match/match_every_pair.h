/* match_every_pair.h -- edges of --candidates all at a threshold of 0: every two documents. */
#ifndef BM_MATCH_MATCH_EVERY_PAIR_H
#define BM_MATCH_MATCH_EVERY_PAIR_H

#include "pipeline/match/edges.h"

/* Fills the result of `match`, whose groups are set up: all pairs of representatives that have shingles.
 * BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT, BM_ERR_CANCELLED. */
bm_status bm_match_every_pair(bm_match *match, bm_error *err);

#endif
