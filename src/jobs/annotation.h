/* SPDX-License-Identifier: Apache-2.0 */
/* annotation.h -- a record with its group: one field more at the end of a JSON object, three
 * columns more at the end of a row of tsv or csv. All other bytes stay.
 *
 *     {"id":"a","text":"..."}  ->  {"id":"a","text":"...","bandmill":{"group":1,"kept":false,
 *                                  "jaccard":0.843750}}
 *     id,text                  ->  id,text,bandmill_group,bandmill_kept,bandmill_jaccard
 *     a,...                    ->  a,...,1,false,0.843750
 *
 * In files of tables it is a column more, a struct of the three: a value put in there is a
 * bm_table_label.
 *
 * Unknown values, and the group of a document that is in none, are null, or an empty field. A row
 * that is shorter than the header (without a header, than its file's first row) gets empty fields
 * before the columns; a longer one is BM_ERR_INPUT, and so is a record that has the field, or a
 * header that has one of the columns. */
#pragma once

#include "input/record_rules.h"
#include "input/record.h"
#include "json/json_exact.h"
#include "base/memory.h"
#include "job/kept_pass.h"
#include "jobs/group_labels.h"

typedef struct bm_annotation {
    bool table;           /* rows of tsv or csv */
    bool labels;          /* rows of files of tables */
    bm_row_syntax syntax; /* of its rows */
    bm_json_exact *json;  /* of JSON: finds the field that must not be there */
    bool begun;           /* n_columns is the number of columns of `file` */
    uint32_t file;
    size_t n_columns;
    bm_buf text; /* the value put in */
} bm_annotation;

/* A record that is written. */
typedef struct bm_annotated {
    const bm_record
        *record;      /* a document that can be read; else a header row, or an array's mark */
    const char *file; /* its name, for messages */
    const bm_group_label *label; /* NULL: a header */
} bm_annotated;
