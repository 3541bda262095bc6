/* match_all_pairs.h -- edges of --candidates all: every pair, exact, without bands. */
#ifndef BM_MATCH_MATCH_ALL_PAIRS_H
#define BM_MATCH_MATCH_ALL_PAIRS_H

#include "pipeline/match/match.h"

/* Edges go into `match`. */
bm_status bm_match_all_pairs(bm_match *match, const bm_callbacks *callbacks, bm_error *err);

#endif
