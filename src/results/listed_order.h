/* SPDX-License-Identifier: Apache-2.0 */
/* listed_order.h -- restores the input order of the documents in a pairs.tsv that `dedup` wrote,
 * and finds out which of them are identical.
 *
 * The file itself states neither. A row has two documents, a and b, and a comes before b in the
 * input. Rows are sorted by a, then by b, in input order. This gives the order of all documents
 * that are the a of a row, but not of documents that are only b. If several documents are
 * identical, each of them has a row with the first of them, and only the first has rows with other
 * documents. If the job made components, groups.jsonl gives the rest of the order: every document
 * of the file is in a group, together with all documents linked to it, in input order.
 *
 * If the job made stars, linked documents may be in several groups, so the rest of the order cannot
 * be restored. The rows still suffice to keep the first document of each group: each document is
 * ordered after every document that is the a of one of its rows.
 *
 * A document counts as a copy if it occurs in only one row, as b, with similarity 1. Such a
 * document may not be identical to its a, but only have the same shingles. This makes no
 * difference, because equal sets have equal signatures and similarities, so its a has no other
 * links either. (Similarity 1.000000 is also written for two sets of two million shingles that
 * differ in one shingle. In this case there may be a difference.)
 *
 * Memory: 32 bytes per document, and 12 for the order. */
#pragma once

#include "model/ids.h"
#include "output/manifest.h"
#include "results/line_file.h"
#include "results/result_dir.h"

/* source_table -- reads numbers from sources.tsv. This table has a row per input. The order of the
 * inputs is that of the manifest or report in the same directory. */

typedef struct bm_source_column {
    size_t field;   /* BM_SOURCES_DOCUMENTS, … (result_tables.h) */
    uint64_t *rows; /* the caller's array; the call sets one number per input */
    uint64_t sum;   /* set by the call: the sum of all rows */
} bm_source_column;

/* Read n columns of sources.tsv. BM_ERR_FORMAT: the manifest has other inputs, a field is no
 * number, or the file differs from the file that the manifest lists. */
bm_status bm_source_table_read(const bm_manifest *manifest, bm_source_column *columns, size_t n,
                               bm_error *err);

/* The state of reading a table with rows in input order. A column of sources.tsv has the number of
 * rows of each input, so the input of a row is known even if two inputs have the same name. */
typedef struct bm_source_walk {
    const bm_manifest *manifest; /* borrowed */
    uint64_t *left;              /* for each input, how many of its rows were not read yet */
    size_t n;                    /* number of inputs */
    size_t file;                 /* index of the current row's input */
} bm_source_walk;

bm_status bm_source_walk_open(const bm_manifest *manifest, bm_source_walk *out, bm_error *err);
void bm_source_walk_close(bm_source_walk *walk);
/* Begin a walk. `column` is the column of sources.tsv with the number of rows of each input. *sum
 * becomes the number of all rows. */
bm_status bm_source_walk_begin(bm_source_walk *walk, size_t column, uint64_t *sum, bm_error *err);
/* Set walk->file to the input of the next row. The field `field` of the row has the name of the
 * input. BM_ERR_FORMAT: the next row must be of another input. */
bm_status bm_source_walk_row(bm_source_walk *walk, const bm_tsv_table *row, size_t field,
                             bm_error *err);

typedef struct bm_listed_doc {
    uint64_t key, place; /* the order is by `key`, then by `place` */
    uint64_t rows;       /* how many rows have this document */
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
    /* for each position: if its document is a copy, the position of the original document;
     * otherwise the position itself */
    uint32_t *rep;
} bm_listed_order; /* {0} is empty */

/* Compute the order. All rows must have been added. `ids`: the ids of the documents; `dir`: the
 * directory of the file, or NULL if the groups are stars. BM_ERR_FORMAT: groups.jsonl is missing,
 * or differs from the file that the report lists. BM_ERR_CANCELLED. On failure *out becomes {0}. */
bm_status bm_listed_docs_order(bm_listed_docs *docs, const bm_result_dir *dir, const bm_id_set *ids,
                               bm_listed_order *out, bm_error *err);
void bm_listed_order_reset(bm_listed_order *order);
/* Replace each document in n pairs by its position in the order. */
void bm_listed_order_map(const bm_listed_order *order, bm_pair *pairs, size_t n);
