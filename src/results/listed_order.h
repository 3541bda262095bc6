/* SPDX-License-Identifier: Apache-2.0 */
/* listed_order.h -- restores, from a pairs.tsv that `dedup` wrote, the input order of its
 * documents, and which of them are identical.
 *
 * The file itself states neither. A row has two documents, a and b; a comes before b in the input.
 * Rows are sorted by a, then b, in input order. This gives the order of all documents that are the
 * a of a row, but not of documents that are only b. Of identical documents, each has a row with the
 * first one, and only the first has rows with other documents. If the job made components,
 * groups.jsonl gives the rest of the order: every document of the file is in a group, together with
 * all documents linked to it, in input order.
 *
 * If the job made stars, linked documents may be in several groups, so the rest of the order cannot
 * be restored. The rows still suffice to keep the first document of each group: each document is
 * ordered after every document that is the a of one of its rows.
 *
 * A document counts as a copy if it occurs in only one row, as b, with similarity 1. It may be that
 * such a document only has the same shingles as its a. Then this makes no difference: equal sets
 * have equal signatures and similarities, so its a has no other links either. (Two sets of two
 * million shingles that differ in one also have the similarity 1.000000: there it may make one.)
 *
 * Memory: 32 bytes per document, and 12 for the order. */
#pragma once

#include "model/ids.h"
#include "output/manifest.h"
#include "results/line_file.h"
#include "results/result_dir.h"

/* source_table -- numbers from sources.tsv, which has a row per input, in the order of the inputs
 * in the manifest or report in the same directory. */

typedef struct bm_source_column {
    size_t field;   /* BM_SOURCES_DOCUMENTS, … (result_tables.h) */
    uint64_t *rows; /* the caller's array; the call sets one number per input */
    uint64_t sum;   /* set by the call: the sum of all rows */
} bm_source_column;

/* Read n columns of sources.tsv. BM_ERR_FORMAT: the manifest has other inputs, a field is no
 * number, or the file differs from the listed one. */
bm_status bm_source_table_read(const bm_manifest *manifest, bm_source_column *columns, size_t n,
                               bm_error *err);

/* A walk over the rows of a table that are in input order. A column of sources.tsv has the number
 * of rows of each input. So the input of a row is known even if two inputs have the same name. */
typedef struct bm_source_walk {
    const bm_manifest *manifest; /* borrowed */
    uint64_t *left;              /* rows not yet read, per input */
    size_t n;                    /* number of inputs */
    size_t file;                 /* index of the current row's input */
} bm_source_walk;

bm_status bm_source_walk_open(const bm_manifest *manifest, bm_source_walk *out, bm_error *err);
void bm_source_walk_close(bm_source_walk *walk);
/* Begin a walk; *sum becomes the number of rows that are expected. `column` is the column of
 * sources.tsv that counts them. */
bm_status bm_source_walk_begin(bm_source_walk *walk, size_t column, uint64_t *sum, bm_error *err);
/* Set walk->file to the input of the next row. The field `field` of the row is the name of this
 * input. BM_ERR_FORMAT: a row of another input is expected here. */
bm_status bm_source_walk_row(bm_source_walk *walk, const bm_tsv_table *row, size_t field,
                             bm_error *err);

typedef struct bm_listed_doc {
    uint64_t key, place; /* the order is by `key`, then by `place` */
    uint64_t rows;       /* number of rows with this document */
    uint32_t a;          /* the a of the last row in which this document is b */
    bool leads;          /* the document is the a of a row */
    bool equal;          /* the last row in which this document is b has similarity 1 */
} bm_listed_doc;

typedef struct bm_listed_docs {
    bm_listed_doc *docs; /* indexed by document number */
    size_t n, cap;
    uint64_t n_rows;
} bm_listed_docs; /* {0} is empty */

/* Add the next row of the file; row->a and row->b are numbers of documents. */
bm_status bm_listed_docs_row(bm_listed_docs *docs, const bm_pair *row, bm_error *err);
void bm_listed_docs_reset(bm_listed_docs *docs);

typedef struct bm_listed_order {
    uint32_t *docs;   /* for each position in the order, the document */
    uint32_t *places; /* for each document, its position in the order */
    uint32_t *rep;    /* for each position: if its document is a copy, the position of the original;
                       * else the same position */
} bm_listed_order;    /* {0} is empty */

/* Compute the order, after all rows were added. `ids`: the ids of the documents; `dir`: the
 * directory of the file; NULL: its groups are stars. BM_ERR_FORMAT: groups.jsonl is missing, or
 * differs from the one that the report lists. BM_ERR_CANCELLED. On failure *out becomes {0}. */
bm_status bm_listed_docs_order(bm_listed_docs *docs, const bm_result_dir *dir, const bm_id_set *ids,
                               bm_listed_order *out, bm_error *err);
void bm_listed_order_reset(bm_listed_order *order);
/* Replace the documents in n pairs by their positions in the order. */
void bm_listed_order_map(const bm_listed_order *order, bm_pair *pairs, size_t n);
