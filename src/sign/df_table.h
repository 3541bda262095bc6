/* SPDX-License-Identifier: Apache-2.0 */
/* df_table.h -- a table of document frequencies.
 *
 * Only shingles of two or more documents are listed. Any other shingle that is looked up is in one
 * document, since look-ups come from the counted documents. In text, the listed shingles are a
 * small part of all. The list is in memory if it fits, else in a temporary file; an index by
 * leading bits of the keys is in memory.
 *
 * Any number of threads may look up at once. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/batches.h"
#include "model/stream_hash.h"

typedef struct bm_df_cfg {
    uint64_t memory;       /* most bytes for counting; 0: no limit */
    uint64_t table_memory; /* most bytes of the list in memory; 0: no limit */
    const char *temp_dir;  /* NULL: no files, and BM_ERR_NOMEM if memory is too little */
} bm_df_cfg;

typedef struct bm_df_facts {
    uint64_t n_docs;     /* N: counted documents, including those without shingles */
    uint64_t n_shingles; /* distinct shingles of all documents */
    uint64_t n_listed;   /* shingles in two or more documents */
    uint64_t file_bytes; /* bytes written to temporary files; 0: there are none */
    /* A digest of all shingles with their frequencies, and of N. Inputs that differ in any of these
     * have different digests, except for 128-bit collisions. */
    bm_hash128 digest;
} bm_df_facts;

typedef struct bm_df_table bm_df_table;

void bm_df_table_close(bm_df_table *table); /* NULL is fine */

const bm_df_facts *bm_df_table_facts(const bm_df_table *table);
/* Bytes of memory that the table takes. */
uint64_t bm_df_table_bytes(const bm_df_table *table);

/* df_count -- counts the number of documents of each shingle.
 *
 * Documents are counted batch by batch, on any number of threads. Counts are integers that are
 * added up, so neither order nor threads change them. They are exact for any amount of memory:
 * counts that do not fit are written to sorted runs on disk (df_table.c). */

typedef struct bm_df_count bm_df_count;

/* `cfg.temp_dir` is borrowed until the table is closed. */
bm_status bm_df_count_open(const bm_df_cfg *cfg, bm_df_count **out, bm_error *err);
void bm_df_count_close(bm_df_count *count); /* NULL is fine */
/* Add every document of the batch; each hash occurs once in a document. Any thread. BM_ERR_NOMEM,
 * BM_ERR_IO. */
bm_status bm_df_count_add(bm_df_count *count, const bm_shingle_batch *batch, bm_error *err);
/* End counting, and make the table, which the caller closes. */
bm_status bm_df_count_end(bm_df_count *count, bm_df_table **out, bm_error *err);

/* weigh -- computes weights from shingles and their counts: tf * ln(N / df).
 *
 * N is the number of documents, including those without shingles, df the number of documents with
 * the shingle, tf its number of occurrences in this document. The quotient is rounded to a double,
 * its logarithm is computed by base/portable_log.h, and the product is rounded: the same bits on
 * every machine. A shingle that is in every document weighs 0 and is removed from the sets. */

/* Replace each document of the batch by its elements in ascending order, with weights. All
 * documents must have been counted. Any thread. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT. */
bm_status bm_weigh_batch(const bm_df_table *table, bm_shingle_batch *batch, bm_error *err);
