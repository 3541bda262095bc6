/* match_all_pairs.h -- edges of --candidates all: every pair, exact, without bands. */
#ifndef BM_MATCH_MATCH_ALL_PAIRS_H
#define BM_MATCH_MATCH_ALL_PAIRS_H

#include "match/edges.h"

/* Fills the result of `match`, whose groups are set up. BM_ERR_NOMEM: `memory` is too little for
 * the search. BM_ERR_IO, BM_ERR_FORMAT, BM_ERR_CANCELLED. */
bm_status bm_match_all_pairs(bm_match *match, const bm_callbacks *callbacks, bm_error *err);

/* The same at a threshold of 0: all pairs of representatives that have shingles (match_every_pair.c). */
bm_status bm_match_every_pair(bm_match *match, bm_error *err);

#endif
