/* group_columns.h -- what grouping says of each document, and of each group. */
#ifndef BM_MATCH_GROUP_COLUMNS_H
#define BM_MATCH_GROUP_COLUMNS_H

#include <bandmill/types.h>

#include "match/known.h"

typedef enum bm_reason {
    BM_REASON_KEPT,
    BM_REASON_IDENTICAL, /* to the kept document */
    BM_REASON_NEAR,      /* itself at the threshold to the kept document */
    BM_REASON_CHAINED,   /* joined to the kept document by way of others only */
    BM_REASON_CONTAINED, /* held by the kept document (holders.h) */
    BM_REASON_KNOWN      /* at the threshold to the kept document, which is a known one */
} bm_reason;

#define BM_NO_KEPT UINT32_MAX /* no document of its group is kept */

typedef struct bm_grouping {
    size_t n;
    uint32_t *label; /* of each document: the smallest document of its group */
    uint32_t *kept; /* of each document: which one is kept for it; itself: it is kept; BM_NO_KEPT */
    uint8_t *reason;    /* bm_reason of each */
    double *similarity; /* of each removed document and its kept one; NAN: not known */
    uint32_t *
        members; /* documents of each group in input order, groups of one left out, but of those that found a known one */
    uint64_t *begin; /* n_groups + 1 places in members */
    size_t n_groups;
    uint64_t n_removed, n_chained, n_identical, n_known, largest;
    uint8_t *divided;   /* of each document: its component was divided into stars; NULL: none was */
    uint64_t n_divided; /* components */
    const bm_known *from;    /* borrowed; NULL: nothing is known, like the rest */
    uint32_t *known;         /* of each document: the known one that is kept for it; BM_NO_KNOWN */
    uint32_t *known_members; /* known ones of each group, ascending */
    uint64_t *known_begin;   /* n_groups + 1 places in them */
} bm_grouping;

#endif
