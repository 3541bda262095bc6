/* known_groups.h -- what known documents make of groups: the steps of grouping.c for them, in their order. */
#ifndef BM_MATCH_KNOWN_GROUPS_H
#define BM_MATCH_KNOWN_GROUPS_H

#include "match/edges.h"
#include "match/group_columns.h"

/* Columns of a grouping that has `from`. */
bm_status bm_known_begin(bm_grouping *out, bm_error *err);
/* Components: documents that found the same known one have one label; the first known one of a group is kept for
 * those of it that found none themselves. */
bm_status bm_known_join(bm_grouping *out, const uint32_t *rep, bm_error *err);
/* Stars, and holders: those for which one known document is kept are a group. */
bm_status bm_known_take(bm_grouping *out, bm_error *err);
/* The known ones of each group, once the groups are gathered. `joined`: of components; else a group has the one that is kept. */
bm_status bm_known_gather(bm_grouping *out, bool joined, bm_error *err);
/* Reason and similarity of a document for which a known one is kept. */
void bm_known_reason(const bm_match *match, bm_grouping *out, uint32_t doc);

/* The similarity of a removed document to the known one that is kept for it: it is chained, unless it reaches the threshold. */
void bm_grouping_compared(bm_grouping *grouping, uint32_t doc, double similarity, double threshold);

/* Was its component divided into stars? And where some are: is it none of theirs? */
static inline bool bm_grouping_is_divided(const bm_grouping *grouping, size_t doc)
{
    return grouping->divided != NULL && grouping->divided[doc] != 0;
}
static inline bool bm_grouping_leaves(const bm_grouping *grouping, size_t doc)
{
    return grouping->divided != NULL && grouping->divided[doc] == 0;
}
static inline bool bm_grouping_is_known(const bm_grouping *grouping, size_t doc)
{
    return grouping->known != NULL && grouping->known[doc] != BM_NO_KNOWN;
}

#endif
