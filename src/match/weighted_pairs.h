/* weighted_pairs.h -- every pair of weighted documents that reaches the threshold, without bands. */
#ifndef BM_MATCH_WEIGHTED_PAIRS_H
#define BM_MATCH_WEIGHTED_PAIRS_H

#include "match/edges.h"

/* Of a corpus of weighted sets, in memory or in a file; adding has ended. The pairs that are compared
 * depend on neither threads nor memory. */
bm_status bm_match_weighted_pairs(bm_match *match, bm_error *err);

#endif
