/* SPDX-License-Identifier: Apache-2.0 */
/* store_runs.h -- runs of postings. All tables of a run have the same number of entries, ascending
 * by key, then number. These functions write a run, read several runs as one list, and merge runs
 * to keep the number of runs small.
 *
 * The size class of a run is the logarithm of its number of entries, base 4, rounded down. If a
 * class has four or more runs, these and all smaller runs are merged into one. So each entry is
 * written about log4(all / batch) times. */
#pragma once

#include "store/store_writer.h"

/* Called with postings in order; `ctx` is the caller's. */
typedef bm_status bm_posting_fn(void *ctx, bm_posting posting, bm_error *err);

/* Pass the entries of one table to `fn`, in order. They come from those runs of
 * snapshot->state.runs for which chosen[] is true, or from all runs if `chosen` is NULL. A run
 * without the table adds nothing. A whole piece is checked before its first entry is passed on.
 * BM_ERR_FORMAT; BM_ERR_CANCELLED; the status that `fn` returned. */
bm_status bm_postings_each(const bm_snapshot *snapshot, const bool chosen[BM_STORE_RUNS],
                           uint32_t table, bm_posting_fn *fn, void *ctx, bm_error *err);

typedef struct bm_run_writer bm_run_writer;
/* A bm_posting_fn that appends the next entry of the table. The bm_run_writer is its ctx. */
bm_status bm_run_add(void *writer, bm_posting posting, bm_error *err);
/* Passes all entries of a table to bm_run_add. */
typedef bm_status bm_table_fn(void *ctx, uint32_t table, bm_run_writer *out, bm_error *err);
/* Write a new run with the n_tables tables from first_table on, calling `fn` for each table. Unless
 * the run is empty, add it to the state of the writer. */
bm_status bm_run_write(bm_store *store, uint32_t first_table, uint32_t n_tables, bm_table_fn *fn,
                       void *ctx, bm_error *err);

typedef enum bm_merge_rule {
    BM_MERGE_SOME, /* merge only if there are very many runs */
    BM_MERGE_ALL   /* merge until at most three runs of each size class are left */
} bm_merge_rule;
bm_status bm_store_merge(bm_store *store, bm_merge_rule rule, bm_error *err);
