/* SPDX-License-Identifier: Apache-2.0 */
/* df_table.h -- document frequencies to look up.
 *
 * Only shingles of two documents or more are listed: any other shingle that is looked up is in one
 * document, since look-ups come from the counted documents. Of text that leaves a small part of the
 * shingles. The list lies in memory as long as it fits, else in a temporary file of blocks, with
 * the first key of each block in memory.
 *
 * Threads: any number of them may look up. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/batches.h"
#include "model/stream_hash.h"

typedef struct bm_df_cfg {
    uint64_t memory;       /* bytes that counting may take; 0: no bound */
    uint64_t table_memory; /* bytes that the list may take in memory; 0: no bound */
    const char *temp_dir;  /* NULL: no files, and BM_ERR_NOMEM where memory is too little */
} bm_df_cfg;

typedef struct bm_df_facts {
    uint64_t n_docs;     /* that were counted, those without shingles too: N */
    uint64_t n_shingles; /* distinct ones of all documents */
    uint64_t n_listed;   /* of these: in two documents or more */
    uint64_t file_bytes; /* written to temporary files; 0: there are none */
    /* Sums over all shingles and their frequencies, and N: two inputs that differ in any of them
     * have different ones, but for accidents of 128 bits. */
    bm_hash128 digest;
} bm_df_facts;

typedef struct bm_df_table bm_df_table;

void bm_df_table_close(bm_df_table *table); /* NULL is fine */

const bm_df_facts *bm_df_table_facts(const bm_df_table *table);
/* Bytes that it holds in memory. */
uint64_t bm_df_table_bytes(const bm_df_table *table);

/* df_count -- document frequencies: the number of documents of each shingle.
 *
 * Documents are counted as they come, batch by batch, on any number of threads; the counts are
 * whole numbers that are added up, so neither the order nor the threads change them. They are exact
 * however little memory there is: what does not fit goes to sorted runs on disk (df_table.c). */

typedef struct bm_df_count bm_df_count;

/* `cfg.temp_dir` is borrowed until the table is closed. */
bm_status bm_df_count_open(const bm_df_cfg *cfg, bm_df_count **out, bm_error *err);
void bm_df_count_close(bm_df_count *count); /* NULL is fine */
/* Add every document of the batch; each hash of a document is there once. Any thread. BM_ERR_NOMEM,
 * BM_ERR_IO. */
bm_status bm_df_count_add(bm_df_count *count, const bm_shingle_batch *batch, bm_error *err);
/* No more documents come: the table of them, which the caller closes. */
bm_status bm_df_count_end(bm_df_count *count, bm_df_table **out, bm_error *err);

/* weigh -- from shingles and their counts in documents to weights: tf * ln(N / df).
 *
 * N is the number of documents, those without shingles too, df the number of documents with the
 * shingle, tf how often this one has it. The quotient is rounded to a double, its logarithm is
 * taken by base/portable_log.h, and the product is rounded: the same bits on every machine. A
 * shingle of every document weighs 0 and is an element of no set. */

/* Replace each document of the batch by its elements in ascending order, with weights. The
 * documents were all counted. Any thread. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT. */
bm_status bm_weigh_batch(const bm_df_table *table, bm_shingle_batch *batch, bm_error *err);
