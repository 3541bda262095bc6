/* SPDX-License-Identifier: Apache-2.0 */
/* record_rules.h -- how records are read: which fields are the text and the id, the syntax of rows,
 * and what makes a record bad. The rules are made once from the options of the inputs, and borrowed
 * by all code that reads, cuts or parses. A new option of reading becomes a member here, set in
 * bm_record_rules_init.
 *
 * For tsv and csv a field is a name in the header or a number from 1. By default there is no header
 * if fields are given and all of them are numbers; otherwise there is one. With a header, a field
 * is first searched among its names, and only then taken for a number. Fields of `keep` do not
 * count in the rule for the header.
 *
 * For each file there is a list of numbers. First come the numbers of the needed columns, from 0
 * (BM_NO_COLUMN: no such column): the id's column, one per text field, and one per field that
 * `keep` uses. A field of `keep` may be missing. The last number is the number of cells in the
 * first row of the file. A row with more cells is bad, because a text that contains the delimiter
 * unquoted would be cut off there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "input/record.h"
#include "model/keep_rules.h"

/* name_list -- the names of the fields that a record has, for the message that a field is missing:
 * "'id', 'body', 'meta' and 4 more". The list has a bounded length and is valid UTF-8. */

typedef struct bm_name_list {
    char text[320]; /* NUL-terminated by bm_name_list_words */
    size_t len;
    size_t n, n_shown;
} bm_name_list; /* initialize to {0} */

/* Add "PREFIX.NAME", or NAME if prefix is empty. */
void bm_name_list_add(bm_name_list *list, bm_str prefix, bm_str name);
/* Finish the list and return it in words; "no fields" if empty. Nothing may be added later. */
const char *bm_name_list_words(bm_name_list *list);

/* Advice in messages about an id that is missing or has a wrong type. */
#define BM_NO_IDS "`id_field` none names records by their places"

/* Returns advice for a message that `field` is missing: if `field` is the default name, the name of
 * the option that chooses another field; else "". */
const char *bm_text_hint(const char *field);

/* Follow `path`, a field name with dots, from `object` through nested objects until a part is
 * missing or only the last part is left. Add the names of the object reached. */
void bm_name_list_json(bm_name_list *list, bm_str object, const char *path);

/* newlines -- counting lines. */

/* Count the newlines in some bytes. Each position in a block of 64 bytes has a one-byte counter;
 * the counters are summed before they can overflow. Compilers vectorize this loop. */
uint64_t bm_count_newlines(const char *data, size_t len);

/* parse_row -- the cells of one row of tsv or csv.
 *
 *     bm_row row = bm_row_begin(content, syntax);
 *     bm_cell cell;
 *     while (bm_row_next(&row, &cell)) …
 *     if (row.broken != NULL) … not a row of RFC 4180
 *
 * An empty row has one empty cell. Nothing is copied, since a cell is a view of the row. Only a
 * cell with "" inside must be rewritten (bm_cell_plain). */

typedef struct bm_row_syntax {
    char delimiter; /* separates cells */
    bool quoted;    /* RFC 4180: cells may be in quotes */
} bm_row_syntax;

typedef struct bm_row {
    const char *pos; /* NULL: no more cells */
    size_t left;     /* bytes from pos to the end of the row */
    bm_row_syntax syntax;
    uint32_t n_cells;     /* cells returned so far, counting a broken one */
    const char *broken;   /* the error in the row; NULL: none so far */
    const char *expected; /* what was expected instead */
    const char *opened;   /* the quote that begins the broken cell; NULL: there is no such quote */
} bm_row;

typedef struct bm_cell {
    bm_str value; /* without its quotes */
    bool doubled; /* csv: it contains "" for a quote */
} bm_cell;

/* Does the byte end a cell that is not in quotes? */
static inline bool bm_row_splits_at(bm_row_syntax syntax, char byte)
{
    return byte == syntax.delimiter;
}

bm_row bm_row_begin(bm_str content, bm_row_syntax syntax);
/* Get the next cell. false: there are no more, or the row is broken. */
bool bm_row_next(bm_row *row, bm_cell *cell);
/* The location of a broken row. */
typedef struct bm_row_place {
    const char *begin; /* the row's first byte */
    uint64_t line;     /* the line of that byte */
    uint64_t n_behind; /* further lines of the row */
} bm_row_place;

/* Explain why a row is broken: where a quoted cell begins, and how many more lines it takes in. */
void bm_row_explain(const bm_row *row, const bm_row_place *place, char *out, size_t cap);
/* Append the delimiter. */
static inline bm_status bm_row_split(bm_row_syntax syntax, bm_buf *out, bm_error *err)
{
    return bm_buf_add(out, &syntax.delimiter, 1, err);
}
/* Explain that a row is bad because it has more cells than the first one. */
void bm_row_explain_surplus(bm_row_syntax syntax, uint32_t n_cells, uint32_t n_first, char *out,
                            size_t cap);
/* Append the cell to `out` with each "" as one quote; *value is a view of the appended bytes. */
bm_status bm_cell_plain(const bm_cell *cell, bm_buf *out, bm_str *value, bm_error *err);

#define BM_NO_COLUMN UINT32_MAX

typedef struct bm_record_rules {
    const char *const *text; /* n_text names; by default "text" */
    size_t n_text;
    const char *id;            /* NULL: ids are always FILE:LINE */
    bool id_given;             /* the user named the field, so it must be present */
    bool header;               /* tsv, csv: the first row names the columns */
    bm_row_syntax syntax;      /* tsv, csv */
    uint64_t longest;          /* the most bytes of a document; UINT64_MAX: no limit */
    const bm_keep_rules *keep; /* rules that rank records by fields; borrowed; NULL: none */
    uint64_t row_ids;          /* as bm_input_options.row_ids */
    /* replace invalid UTF-8 by U+FFFD; false: invalid UTF-8 makes a record bad */
    bool repairs;
} bm_record_rules;

/* Where a bad record is, and what is wrong with it. */
typedef struct bm_bad_place {
    const char *file;
    uint64_t line;
    const char *reason;
} bm_bad_place;

/* Fill `out` from the options. BM_ERR_USAGE: options contradict each other or the format, such as a
 * field given by name in a file without a header. */
bm_status bm_record_rules_init(const bm_input_options *options, bm_format format,
                               bm_record_rules *out, bm_error *err);
/* The syntax of rows of the format; zeros for formats except tsv and csv. */
bm_row_syntax bm_row_syntax_of(const bm_input_options *options, bm_format format);
/* --- bad records --- */

/* Report a bad record that ends the run: BM_ERR_INPUT with its reason, and advice on how to go on
 * without it. */
bm_status bm_fail_bad_record(const char *file, const bm_record *record, bm_error *err);
/* Add advice to an error in a file: the records before the error can be used. */
void bm_advise_records_before(bm_error *err);
/* After n bad records were skipped, may one more be skipped? If not, BM_ERR_INPUT with its place
 * and its reason. */
bm_status bm_skip_allowed(const bm_input_options *options, uint64_t n, const bm_bad_place *bad,
                          bm_error *err);
/* Explain why a record is bad. bm_explain_longer: `what` ("text") is longer than a document may be,
 * and `more` continues the reason. bm_explain_invalid: `what` has n invalid bytes, which the rules
 * do not repair. */
void bm_explain_longer(const bm_record_rules *rules, const char *what, const char *more, char *out,
                       size_t cap);
void bm_explain_invalid(const char *what, uint64_t n, char *out, size_t cap);

/* --- columns --- */

/* Let the fields of `keep` (borrowed) rank the records. BM_ERR_USAGE: the format has no fields, or,
 * without a header, a field is not the number of a column. */
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
/* How many numbers are stored for a file of rows: one for each needed column, and the number of
 * cells in its first row. */
static inline size_t bm_row_numbers_count(const bm_record_rules *rules)
{
    return bm_columns_count(rules) + 1;
}

/* The first row of a table's file. */
typedef struct bm_first_row {
    bm_str row; /* without its line ending */
    bm_row_syntax syntax;
    const char *file; /* the file's name, for messages */
} bm_first_row;

/* Fill bm_row_numbers_count() numbers.
 *
 * bm_row_numbers_begin is called before any row is known. No column is known by name then, and rows
 * may have any number of cells.
 *
 * bm_row_numbers_from uses the first row, which is a header if rules->header is set. If the first
 * row is broken, or longer than a document may be, rows may still have any number of cells.
 * BM_ERR_INPUT: the header is broken, or lacks a field, or has it twice; the message names the file
 * and line 1. */
void bm_row_numbers_begin(const bm_record_rules *rules, uint32_t *numbers);
bm_status bm_row_numbers_from(const bm_record_rules *rules, const bm_first_row *first,
                              uint32_t *numbers, bm_error *err);
/* List the names in a header, if it lacks a field of `keep`; else *out does not change. */
bm_status bm_row_names_if_absent(const bm_record_rules *rules, const bm_first_row *header,
                                 const uint32_t *numbers, bm_name_list **out, bm_error *err);
