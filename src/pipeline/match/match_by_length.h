/* match_by_length.h -- edges of --candidates length: every pair whose sizes allow the threshold. */
#ifndef BM_MATCH_MATCH_BY_LENGTH_H
#define BM_MATCH_MATCH_BY_LENGTH_H

#include "pipeline/match/edges.h"

/* Fills the result of `match`, whose groups are set up. BM_ERR_NOMEM: `memory` is too little, and
 * the message names the least. BM_ERR_IO, BM_ERR_FORMAT, BM_ERR_CANCELLED. */
bm_status bm_match_by_length(bm_match *match, const bm_callbacks *callbacks, bm_error *err);

#endif
