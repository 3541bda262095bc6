/* SPDX-License-Identifier: Apache-2.0 */
/* store_filter.h -- the filters of an index of sets (bytes/filter_piece.h), which a writer adds as
 * documents come.
 *
 * They are about the documents from 0 on, piece by piece; the last ones, too few for a piece, are
 * in none, and those that come next are put together with them. */
#pragma once

#include "store/piece.h"
#include "store/store_snapshot.h"

typedef struct bm_store_filters {
    bm_filter_writer next;
    bm_store_env *env;
    bm_state *state; /* of the writer */
    bool none;       /* there are to be none */
} bm_store_filters;

/* Begin with the documents that no filter of the snapshot covers; new ones follow. */
bm_status bm_store_filters_begin(bm_store_filters *filters, const bm_snapshot *snapshot,
                                 bm_error *err);
/* The next document, with its body. */
bm_status bm_store_filters_add(bm_store_filters *filters, const bm_store_doc *doc, bm_error *err);

/* The first number that no filter is about. */
uint64_t bm_store_filters_end(const bm_snapshot *snapshot);
/* The filter of a piece; its sum is not looked at. false: damaged. */
bool bm_store_filter_open(const bm_snapshot *snapshot, const bm_piece_ref *ref,
                          bm_filter_piece *out);
/* *right: filter i follows the one before it, and is what its documents make it. */
bm_status bm_store_filter_check(const bm_snapshot *snapshot, size_t i, bool *right, bm_error *err);
