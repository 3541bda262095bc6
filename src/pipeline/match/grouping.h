/* grouping.h -- from edges to groups, and which document of each is kept.
 *
 * Components: the connected components of the edges, copies with their representative. Stars: as in
 * lsh/stars.h, documents in order of preference; so each removed document is itself joined to the
 * kept one. The label of a group is its smallest document. */
#ifndef BM_MATCH_GROUPING_H
#define BM_MATCH_GROUPING_H

#include <bandmill/types.h>

#include "model/doc_table.h"
#include "pipeline/match/edges.h"

typedef enum bm_reason {
    BM_REASON_KEPT,
    BM_REASON_IDENTICAL, /* to the kept document */
    BM_REASON_NEAR,      /* itself at the threshold to the kept document */
    BM_REASON_CHAINED    /* joined to the kept document by way of others only */
} bm_reason;

typedef struct bm_grouping {
    size_t n;
    uint32_t *label;    /* of each document: the smallest document of its group */
    uint32_t *kept;     /* of each document: which one is kept for it; itself: it is kept */
    uint8_t *reason;    /* bm_reason of each */
    double *similarity; /* of each removed document and its kept one; NAN: not known */
    uint32_t *members;  /* documents of each group in input order, groups of one left out */
    uint64_t *begin;    /* n_groups + 1 places in members */
    size_t n_groups;
    uint64_t n_removed, n_chained, n_identical, largest;
} bm_grouping;

typedef struct bm_grouping_options {
    const bm_doc_table *docs; /* for the lengths of texts; borrowed */
    bm_cluster cluster;
    bm_keep keep; /* which document of a group is kept */
} bm_grouping_options;

/* `match` has run. Removed documents whose similarity to the kept one is not known yet are compared
 * with it. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT, and `out` is empty. */
bm_status bm_grouping_make(const bm_match *match, const bm_grouping_options *options,
                           bm_grouping *out, bm_error *err);
void bm_grouping_reset(bm_grouping *grouping);

#endif
