/* SPDX-License-Identifier: Apache-2.0 */
/* store_filter.h -- makes the filters of an index of sets (store/piece.h). A writer adds filters
 * while it adds documents.
 *
 * Filters cover the documents from 0 on, piece by piece. The last documents have no filter if they
 * are too few for a piece. The next writer combines them with the documents that it adds. */
#pragma once

#include "store/piece.h"
#include "store/store_snapshot.h"

typedef struct bm_store_filters {
    bm_filter_writer next;
    bm_store_env *env;
    bm_state *state; /* state of the writer */
    bool none;       /* this index has no filters */
} bm_store_filters;

/* Begin with the documents that no filter of the snapshot covers. New documents follow them. */
bm_status bm_store_filters_begin(bm_store_filters *filters, const bm_snapshot *snapshot,
                                 bm_error *err);
/* Add the next document. It must have its body. When enough documents were added, a filter is
 * written. */
bm_status bm_store_filters_add(bm_store_filters *filters, const bm_store_doc *doc, bm_error *err);

/* Return the first document number that no filter covers. */
uint64_t bm_store_filters_end(const bm_snapshot *snapshot);
/* Open the filter in a piece. Returns false if the head or the sizes of the filter are wrong. Its
 * sum is not checked. */
bool bm_store_filter_open(const bm_snapshot *snapshot, const bm_piece_ref *ref,
                          bm_filter_piece *out);
/* Set *right to whether filter i begins where filter i - 1 ends, and equals the filter made anew
 * from its documents. */
bm_status bm_store_filter_check(const bm_snapshot *snapshot, size_t i, bool *right, bm_error *err);
