/* SPDX-License-Identifier: Apache-2.0 */
/* record_rules.h -- how records are read: which of their fields are the text and the id, how rows
 * are written, and what makes a record bad. Made once of the options of the inputs, and borrowed by
 * whoever reads, cuts or parses: a new option of reading is a member here, set in
 * bm_record_rules_init.
 *
 * For tsv and csv a field is a header's name or a number from 1. `--header` is `no` exactly when
 * all fields given are numbers. With a header, a name that is in it goes before the number.
 * The columns needed are then a list of numbers from 0: the id's first (BM_NO_COLUMN: none),
 * then one for each text field, then one for each field that `keep` looks at, which may be
 * missing. Fields of `keep` do not count for the rule of the header. After them is the number of
 * cells in the first row of the file: a row of more is bad, for a text that holds the delimiter and
 * no quotes would end there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "model/keep_rules.h"

/* name_list -- the names of the fields that a record has, for the message about one that it has
 * not: "'id', 'body', 'meta' and 4 more". Of bounded length, and valid UTF-8. */

typedef struct bm_name_list {
    char text[320]; /* ended by NUL once the list is */
    size_t len;
    size_t n, n_shown;
} bm_name_list; /* {0} is empty */

/* Add "PREFIX.NAME", or NAME where prefix is empty. */
void bm_name_list_add(bm_name_list *list, bm_str prefix, bm_str name);
/* The list in words; "no fields" where it is empty. Nothing may be added any more. */
const char *bm_name_list_words(bm_name_list *list);

/* For messages about an id that is missing or of another type. */
#define BM_NO_IDS "`id_field` none names records by their places"

/* For messages about a missing field: if the name is the default, the message names the option. */
const char *bm_text_hint(const char *field);

/* The names of the object, in the text of a JSON object, that the path leads to before a part of it
 * is missing. `path` is dotted, as fields are given. */
void bm_name_list_json(bm_name_list *list, bm_str object, const char *path);

/* newlines -- counting lines. */

/* Newlines in a run of bytes, by 64 counters of a byte each, one for each place in a block of 64
 * bytes; they are summed before they can overflow. Compilers turn this into vector code. */
uint64_t bm_count_newlines(const char *data, size_t len);

/* parse_row -- the cells of one row of tsv or csv.
 *
 *     bm_row row = bm_row_begin(content, syntax);
 *     bm_cell cell;
 *     while (bm_row_next(&row, &cell)) …
 *     if (row.broken != NULL) … it is no row of RFC 4180
 *
 * An empty row has one empty cell. No copies: a cell is a view of the row; only one that holds ""
 * must be rewritten (bm_cell_plain). */

typedef struct bm_row_syntax {
    char delimiter; /* between cells */
    bool quoted;    /* RFC 4180: cells may be in quotes */
} bm_row_syntax;

typedef struct bm_row {
    const char *pos; /* NULL: no more cells */
    size_t left;     /* bytes from pos to the end of the row */
    bm_row_syntax syntax;
    uint32_t n_cells;     /* given so far, with the one that is broken */
    const char *broken;   /* why this is no row; NULL: nothing found so far */
    const char *expected; /* instead of it */
    const char *opened; /* the quote with which the broken cell begins; NULL: it begins with none */
} bm_row;

typedef struct bm_cell {
    bm_str value; /* without its quotes */
    bool doubled; /* csv: it holds "" for a quote */
} bm_cell;

/* Does the byte end a cell that is in no quotes? */
static inline bool bm_row_splits_at(bm_row_syntax syntax, char byte)
{
    return byte == syntax.delimiter;
}

bm_row bm_row_begin(bm_str content, bm_row_syntax syntax);
/* false: no more cells, or the row is broken. */
bool bm_row_next(bm_row *row, bm_cell *cell);
/* The place of a broken row. */
typedef struct bm_row_place {
    const char *begin; /* its first byte */
    uint64_t line;     /* the column of that byte */
    uint64_t n_behind; /* lines after that one that belong to the row */
} bm_row_place;

/* Why a row is broken, for people: where a cell in quotes begins, and how many lines it swallowed.
 */
void bm_row_explain(const bm_row *row, const bm_row_place *place, char *out, size_t cap);
/* Append the separator of two cells. */
static inline bm_status bm_row_split(bm_row_syntax syntax, bm_buf *out, bm_error *err)
{
    return bm_buf_add(out, &syntax.delimiter, 1, err);
}
/* Why a row of more cells than the first one is bad, for people. */
void bm_row_explain_surplus(bm_row_syntax syntax, uint32_t n_cells, uint32_t n_first, char *out,
                            size_t cap);
/* Append the cell to `out` with each "" as one quote; *value is a view of the appended bytes. */
bm_status bm_cell_plain(const bm_cell *cell, bm_buf *out, bm_str *value, bm_error *err);

#define BM_NO_COLUMN UINT32_MAX

typedef struct bm_record_rules {
    const char *const *text; /* n_text names; "text" where none was given */
    size_t n_text;
    const char *id;            /* NULL: always FILE:LINE */
    bool id_given;             /* by the user: it must then be there */
    bool header;               /* tsv, csv: the first row names the columns */
    bm_row_syntax syntax;      /* of their rows */
    uint64_t longest;          /* bytes of a document; UINT64_MAX: any number */
    const bm_keep_rules *keep; /* the rules that rank records by fields; borrowed; NULL: none */
    uint64_t row_ids;          /* bm_input_options.row_ids */
    bool repairs;              /* U+FFFD replaces invalid UTF-8; false: it makes a record bad */
} bm_record_rules;

/* Fill `out` from the options. BM_ERR_USAGE: a name without a header, or a number that no column
 * can have. */
bm_status bm_record_rules_init(const bm_input_options *options, bm_format format,
                               bm_record_rules *out, bm_error *err);
/* How rows of the format are written; of others than tsv and csv nothing. */
bm_row_syntax bm_row_syntax_of(const bm_input_options *options, bm_format format);
/* Records are ranked by the fields of `keep` too (borrowed). BM_ERR_USAGE: the format has no
 * fields, or rows have no such column. */
bm_status bm_record_rules_rank(bm_record_rules *rules, bm_format format, const bm_keep_rules *keep,
                               bm_error *err);
static inline size_t bm_rules_n_keep(const bm_record_rules *rules)
{
    return rules->keep != NULL ? rules->keep->n_fields : 0;
}
static inline size_t bm_columns_count(const bm_record_rules *rules)
{
    return 1 + rules->n_text + bm_rules_n_keep(rules);
}
/* Numbers that are known of a file of rows: its columns, then the cells of its first row. */
static inline size_t bm_row_numbers_count(const bm_record_rules *rules)
{
    return bm_columns_count(rules) + 1;
}

/* The first row of a table's file. */
typedef struct bm_first_row {
    bm_str row; /* its line ending taken off */
    bm_row_syntax syntax;
    const char *file; /* its name, for messages */
} bm_first_row;

/* Fill bm_row_numbers_count() numbers: before any row is known, which bounds no row and names no
 * column; from the first row, which is a header where the rules say so. A first row that is broken,
 * or longer than a document may be, bounds none. BM_ERR_INPUT names the file, line 1 and the field
 * that is missing or is twice. */
void bm_row_numbers_begin(const bm_record_rules *rules, uint32_t *numbers);
bm_status bm_row_numbers_from(const bm_record_rules *rules, const bm_first_row *first,
                              uint32_t *numbers, bm_error *err);
/* The names of a header, if a field of `keep` is none of them; else *out stays as it is. */
bm_status bm_row_names_if_absent(const bm_record_rules *rules, const bm_first_row *header,
                                 const uint32_t *numbers, bm_name_list **out, bm_error *err);
