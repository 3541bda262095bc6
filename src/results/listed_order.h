/* SPDX-License-Identifier: Apache-2.0 */
/* listed_order.h -- of the documents of a pairs.tsv that `dedup` wrote: in what order they stood in
 * the input, and which of them are identical.
 *
 * The file itself has neither. Rows are in input order of a, then b, a before b: that orders all
 * documents that are an a, but not those that are only a b among each other. Of identical documents
 * each has a row with the first of them, and the first alone has their links. Where the job made
 * components, groups.jsonl has the rest of the order: every document of the file is in a group,
 * with all documents linked to it, in input order.
 *
 * Where it made stars, the linked documents of one group lie in several, so that order is lost. The
 * rows still suffice to keep the first: each document comes after every document that is the a of
 * one of its rows.
 *
 * A document is a copy if it is in one row only, as b, with similarity 1. A document in such a row
 * that is no copy has the same set as its a; its a has no other links either, since a set that
 * equals another has the same signature and similarities. Then it makes no difference. (Two sets of
 * two million shingles that differ in one have 1.000000 too: such a document might differ.)
 *
 * Memory: 32 bytes a document, and 12 for the order. */
#pragma once

#include "model/ids.h"
#include "output/manifest.h"
#include "results/line_file.h"
#include "results/result_dir.h"

/* source_table -- the numbers of sources.tsv: a row an input, in the order in which the manifest or
 * report beside it names them. */

typedef struct bm_source_column {
    size_t field;   /* BM_SOURCES_DOCUMENTS, … (result_tables.h) */
    uint64_t *rows; /* of each input, filled */
    uint64_t sum;   /* filled */
} bm_source_column;

/* BM_ERR_FORMAT: other inputs, no numbers, not the file that the manifest lists. */
bm_status bm_source_table_read(const bm_manifest *manifest, bm_source_column *columns, size_t n,
                               bm_error *err);

/* Rows of a table in the order of the inputs, as many of each input as a column of sources.tsv
 * counts. So the input of a row is known, even if two have one name. */
typedef struct bm_source_walk {
    const bm_manifest *manifest; /* borrowed */
    uint64_t *left;              /* rows that are still to come of each input */
    size_t n;                    /* inputs */
    size_t file;                 /* of the row read last */
} bm_source_walk;

bm_status bm_source_walk_open(const bm_manifest *manifest, bm_source_walk *out, bm_error *err);
void bm_source_walk_close(bm_source_walk *walk);
/* From the first row on; *sum: how many there should be. */
bm_status bm_source_walk_begin(bm_source_walk *walk, size_t column, uint64_t *sum, bm_error *err);
/* Find the input of a row, which has the input's name in `field`. BM_ERR_FORMAT: another row should
 * come here. */
bm_status bm_source_walk_row(bm_source_walk *walk, const bm_tsv_table *row, size_t field,
                             bm_error *err);

typedef struct bm_listed_doc {
    uint64_t key, place; /* documents sorted by the first, then by the second, are in input order */
    uint64_t rows;       /* that has the row */
    uint32_t a;          /* of the last row in which it is b */
    bool leads;          /* it is the a of a row */
    bool equal;          /* the last row in which it is b has similarity 1 */
} bm_listed_doc;

typedef struct bm_listed_docs {
    bm_listed_doc *docs; /* by their numbers */
    size_t n, cap;
    uint64_t n_rows;
} bm_listed_docs; /* {0} is empty */

/* The next row of the file, of two numbers of documents. */
bm_status bm_listed_docs_row(bm_listed_docs *docs, const bm_pair *row, bm_error *err);
void bm_listed_docs_reset(bm_listed_docs *docs);

typedef struct bm_listed_order {
    uint32_t *docs;   /* by place */
    uint32_t *places; /* by document */
    uint32_t *rep;    /* of each place, the place of the first of its copies, or itself */
} bm_listed_order;    /* {0} is empty */

/* All rows were added. `ids`: of the documents; `dir`: of the file, NULL where its groups are
 * stars. BM_ERR_FORMAT: groups.jsonl is missing, or is not the one that the report lists;
 * BM_ERR_CANCELLED; `out` is empty then. */
bm_status bm_listed_docs_order(bm_listed_docs *docs, const bm_result_dir *dir, const bm_id_set *ids,
                               bm_listed_order *out, bm_error *err);
void bm_listed_order_reset(bm_listed_order *order);
/* Make places of the documents of n pairs. */
void bm_listed_order_map(const bm_listed_order *order, bm_pair *pairs, size_t n);
