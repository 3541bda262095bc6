/* SPDX-License-Identifier: Apache-2.0 */
/* store_runs.h -- runs of postings: of each of their tables as many entries, ascending by key, then
 * number. Writing one, reading several as one list, and merging, so that they stay few.
 *
 * Runs are of one size if their numbers of entries have the same logarithm (base 4, rounded down).
 * Where there are too many of a size, these and all smaller ones become one. So each entry is
 * written about log4(all / batch) times. */
#pragma once

#include "store/store_writer.h"

/* Is called with postings in their order; `ctx` is the caller's. */
typedef bm_status bm_posting_fn(void *ctx, bm_posting posting, bm_error *err);

/* The entries of a table of these of snapshot->state.runs (NULL: of all) as one list; those without
 * the table add nothing. Each piece is checked whole before one of its entries is given.
 * BM_ERR_FORMAT; BM_ERR_CANCELLED; what `fn` returned. */
bm_status bm_postings_each(const bm_snapshot *snapshot, const bool chosen[BM_STORE_RUNS],
                           uint32_t table, bm_posting_fn *fn, void *ctx, bm_error *err);

typedef struct bm_run_writer bm_run_writer;
/* A bm_posting_fn; its ctx is the bm_run_writer: the next entry of the table. */
bm_status bm_run_add(void *writer, bm_posting posting, bm_error *err);
/* Gives all entries of a table to bm_run_add. */
typedef bm_status bm_table_fn(void *ctx, uint32_t table, bm_run_writer *out, bm_error *err);
/* A new run of these tables, which the state names unless it is empty. */
bm_status bm_run_write(bm_store *store, uint32_t first_table, uint32_t n_tables, bm_table_fn *fn,
                       void *ctx, bm_error *err);

typedef enum bm_merge_rule {
    BM_MERGE_SOME, /* only where there are very many */
    BM_MERGE_ALL   /* three of a size may stay */
} bm_merge_rule;
bm_status bm_store_merge(bm_store *store, bm_merge_rule rule, bm_error *err);
