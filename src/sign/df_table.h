/* SPDX-License-Identifier: Apache-2.0 */
/* df_table.h -- a table of document frequencies.
 *
 * The table lists only shingles that are in two or more documents. Shingles are looked up only if
 * they are in a counted document, so a shingle that is not listed is in exactly one document. In
 * text, the listed shingles are a small part of all shingles. The list is in memory if it fits,
 * else in a temporary file. An index by leading bits of the keys is always in memory.
 *
 * Any number of threads may look up shingles at once. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/batches.h"
#include "model/stream_hash.h"

typedef struct bm_df_cfg {
    uint64_t memory;       /* most bytes for counting; 0: no limit */
    uint64_t table_memory; /* most bytes of the list in memory; 0: no limit */
    const char *temp_dir;  /* NULL: no files are used; if memory is short, BM_ERR_NOMEM */
} bm_df_cfg;

typedef struct bm_df_facts {
    uint64_t n_docs;     /* counted documents, including those without shingles */
    uint64_t n_shingles; /* distinct shingles of all documents */
    uint64_t n_listed;   /* shingles in two or more documents */
    uint64_t file_bytes; /* bytes written to temporary files; 0: no files were used */
    /* A digest of n_docs and of all shingles with their frequencies. If any of these differ, the
     * digests differ, except for 128-bit collisions. */
    bm_hash128 digest;
} bm_df_facts;

typedef struct bm_df_table bm_df_table;

void bm_df_table_close(bm_df_table *table); /* NULL is fine */

const bm_df_facts *bm_df_table_facts(const bm_df_table *table);
/* Bytes of memory that the table takes. */
uint64_t bm_df_table_bytes(const bm_df_table *table);

/* df_count -- counts, for each shingle, the documents that have it.
 *
 * Documents are counted batch by batch, on any number of threads. Counts are sums of integers, so
 * they do not depend on order or threads. They are exact for any amount of memory: counts that do
 * not fit are written to sorted runs in files (df_table.c). */

typedef struct bm_df_count bm_df_count;

/* `cfg.temp_dir` is borrowed until the table is closed. */
bm_status bm_df_count_open(const bm_df_cfg *cfg, bm_df_count **out, bm_error *err);
void bm_df_count_close(bm_df_count *count); /* NULL is fine */
/* Count the documents of the batch. Within a document, each hash must occur only once. Any thread.
 * BM_ERR_NOMEM, BM_ERR_IO. */
bm_status bm_df_count_add(bm_df_count *count, const bm_shingle_batch *batch, bm_error *err);
/* End counting, and make the table, which the caller closes. */
bm_status bm_df_count_end(bm_df_count *count, bm_df_table **out, bm_error *err);

/* weigh -- computes the weight of a shingle in a document: tf * ln(N / df).
 *
 * N is the number of documents, including those without shingles; df is the number of documents
 * that have the shingle; tf is the number of its occurrences in this document. The quotient is
 * rounded to a double, its logarithm is computed by base/portable_log.h, and the product is
 * rounded. So the result has the same bits on every machine. A shingle that is in every document
 * has the weight 0, and is removed from the sets. */

/* In each document of the batch, sort the shingles in ascending order, and set their weights. All
 * documents must have been counted. Any thread. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT. */
bm_status bm_weigh_batch(const bm_df_table *table, bm_shingle_batch *batch, bm_error *err);
