/* grouping.h -- from edges to groups, and which document of each is kept.
 *
 * Components: the connected components of the edges, copies with their representative. Stars: as in
 * lsh/stars.h, documents in order of preference; so each removed document is itself joined to the
 * kept one. The label of a group is its smallest document.
 *
 * Documents of an earlier collection (known.h) are kept before all others. Components: documents that found the same known
 * one are joined, and a group that found one keeps none of its own. Stars: known documents take their turns first. */
#ifndef BM_MATCH_GROUPING_H
#define BM_MATCH_GROUPING_H

#include <bandmill/types.h>

#include "match/edges.h"
#include "match/group_columns.h"

typedef struct bm_grouping_options {
    const bm_keep_rank *rank; /* which document of a group is kept; borrowed */
    bm_cluster cluster;
    uint64_t most; /* a component of more documents is divided into stars; 0: none */
} bm_grouping_options;

/* `match` has run. Removed documents whose similarity to the kept one is not known yet are compared
 * with it, but where that is a known one: such are chained, with NAN (bm_grouping_compared). BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT, and `out` is empty. */
bm_status bm_grouping_make(const bm_match *match, const bm_grouping_options *options,
                           bm_grouping *out, bm_error *err);
void bm_grouping_reset(bm_grouping *grouping);

#endif
