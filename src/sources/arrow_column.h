/* SPDX-License-Identifier: Apache-2.0 */
/* arrow_column.h -- reads the cells of one column of an Arrow array (bandmill/arrow.h): text, bytes
 * or integers.
 *
 *     row r of the table is cell  table.offset + column.offset + r  of the column's buffers; for a
 *     column inside a struct, the struct's offset is added too, and a row with a null struct is
 *     null
 *
 *     utf8, binary        buffers: validity, offsets, bytes; cell c is bytes offsets[c] …
 *                         offsets[c+1]-1
 *     utf8_view, …_view   buffers: validity, views of 16 bytes, any number of buffers of bytes, and
 *                         an array of their sizes; a cell of up to 12 bytes is in its view
 *     integers            buffers: validity, values
 *     null                no buffers; every cell is null
 *     a dictionary        integers, each the index of a cell in an array of texts
 *     a list              buffers: validity, offsets; cell c is the cells offsets[c] …
 *                         offsets[c+1]-1 of its only child, so a row may have any number of
 *                         values. Lists of a fixed size have no offsets */
#pragma once

#include <bandmill/arrow.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/keep_key.h"

typedef enum bm_arrow_column_kind {
    BM_ARROW_COLUMN_OTHER, /* a type that is not read here */
    BM_ARROW_COLUMN_BYTES, /* utf8, binary; `width` bytes per offset */
    BM_ARROW_COLUMN_VIEWS, /* utf8_view, binary_view */
    BM_ARROW_COLUMN_INT,   /* `width` bytes per value */
    BM_ARROW_COLUMN_UINT,
    BM_ARROW_COLUMN_NULLS /* the type null: all texts are missing */
} bm_arrow_column_kind;

typedef struct bm_arrow_column_type {
    bm_arrow_column_kind kind;
    uint8_t width;
    bm_arrow_column_kind in_kind; /* dictionaries: the kind of the indices, which are integers */
    uint8_t in_width;             /* bytes of an index; 0: there is no dictionary */
} bm_arrow_column_type;

/* One array of cells. */
typedef struct bm_cells {
    bm_arrow_column_kind kind;
    uint8_t width;
    const uint8_t *validity; /* a bit per cell, lowest bit first; NULL: there are no nulls */
    const void *values;      /* integers, views, or the offsets of bytes */
    const char *bytes;
    const void *const *buffers; /* views: array of the buffers of bytes */
    uint64_t first;             /* the index of the cell of row 0 */
} bm_cells;

#define BM_ARROW_COLUMN_DEPTH 16u /* steps in a path of columns */

typedef enum bm_arrow_column_step {
    BM_STEP_CHILD, /* to a child of the table or a struct */
    BM_STEP_LIST   /* to the values of a list */
} bm_arrow_column_step;

/* The path to a column: a child of the table, a child of that child, … */
typedef struct bm_arrow_column_path {
    bool found; /* false: there is no such column */
    bm_arrow_column_step step[BM_ARROW_COLUMN_DEPTH];
    /* The index of the child; for lists of a fixed size, the number of values; for other lists
     * 0. */
    uint32_t child[BM_ARROW_COLUMN_DEPTH];
    uint8_t width[BM_ARROW_COLUMN_DEPTH]; /* lists: bytes per offset */
    uint32_t n;                           /* number of steps; 0: the array itself is the column */
} bm_arrow_column_path;

/* A level above a column: a struct with nulls, or a list. */
typedef struct bm_arrow_column_level {
    bool list;
    uint32_t fixed; /* values per list; 0: there are offsets */
    bm_cells cells; /* validity of the cells; for a list also its offsets */
} bm_arrow_column_level;

/* How the cells of a column become values that `keep` compares (bm_arrow_column_value). */
typedef enum bm_value_form_kind {
    BM_FORM_MISSING, /* there is no such column */
    BM_FORM_OTHER,   /* values of this type have no order */
    BM_FORM_BOOL,    /* like OTHER, but a null counts as a missing value */
    BM_FORM_TEXT,
    BM_FORM_INTEGER,
    BM_FORM_FLOAT,   /* `width` bytes */
    BM_FORM_DECIMAL, /* `width` bytes, little-endian, with `digits` digits after the point */
    BM_FORM_UUID,    /* `width` bytes, each of which is two hexadecimal digits of the text */
    BM_FORM_TIME /* a signed integer of `width` bytes: seconds with `digits` decimals, or days */
} bm_value_form_kind;

typedef struct bm_value_form {
    bm_value_form_kind kind;
    uint8_t width;
    int digits;
    /* TIME: days: the unit is a day; dated: values have a date; clock: values have a time of day */
    bool days, dated, clock;
} bm_value_form;

typedef struct bm_arrow_column {
    bm_arrow_column_type type;
    bm_cells cells;      /* dictionaries: the indices */
    bm_cells dictionary; /* kind OTHER: there is no dictionary */
    bm_arrow_column_level levels[BM_ARROW_COLUMN_DEPTH];
    uint32_t n_levels;
    bool many;          /* a level is a list: rows have any number of values */
    bm_value_form form; /* for the id, and for fields of `keep` */
} bm_arrow_column;

#define BM_ARROW_COLUMN_DIGITS 24u /* space for any integer */

bm_arrow_column_type bm_arrow_column_type_of(const struct ArrowSchema *schema);
/* The name of a type, such as "int64". For some types, the format string, which is borrowed. */
const char *bm_arrow_column_type_name(const struct ArrowSchema *schema);
/* Are cells of this type texts or bytes? Also true for the null type, which has only missing
 * cells. */
bool bm_arrow_column_is_text(bm_arrow_column_type type);
/* Open the column at this path, and check that all its rows can be read. Returns NULL, or a
 * description of the error in the array. Borrows the array. */
const char *bm_arrow_column_open(const struct ArrowArray *table, const bm_arrow_column_path *path,
                                 bm_arrow_column_type type, bm_arrow_column *out);
/* Append to `path` the step from the list `schema` to its values. False: `schema` is no list that
 * is read, or the path is too long. */
bool bm_arrow_column_list_step(const struct ArrowSchema *schema, bm_arrow_column_path *path);
/* Is the row null? If the column is `many`, use bm_arrow_column_each instead. */
bool bm_arrow_column_is_null(const bm_arrow_column *column, size_t row);
/* The bytes of a text cell. The cell must not be null. */
bm_str bm_arrow_column_bytes(const bm_arrow_column *column, size_t row);
/* The dictionary entry that a row refers to; UINT64_MAX: there is no dictionary, or the row is
 * null. The column must not be `many`. */
uint64_t bm_arrow_column_entry(const bm_arrow_column *column, size_t row);
/* An integer in decimal, written to `digits`. The cell must not be null. */
bm_str bm_arrow_column_decimal(const bm_arrow_column *column, size_t row,
                               char digits[BM_ARROW_COLUMN_DIGITS]);
/* An integer, sign-extended if the type is signed. The cell must not be null. */
uint64_t bm_arrow_column_integer(const bm_arrow_column *column, size_t row);
/* The text of a cell that is an id, by the column's form. It is a view of the column or of `texts`,
 * which is emptied first. The cell must not be null. */
bm_status bm_arrow_column_id(const bm_arrow_column *column, size_t row, bm_buf *texts, bm_str *out,
                             bm_error *err);

/* Call back for each text of a row, in order. A text that is null, or inside a null struct, is
 * passed as an empty text. A null list has no texts. Any status except BM_OK ends the calls and is
 * returned. */
typedef bm_status (*bm_arrow_column_fn)(void *ctx, bm_str text, bm_error *err);
bm_status bm_arrow_column_each(const bm_arrow_column *column, size_t row, bm_arrow_column_fn fn,
                               void *ctx, bm_error *err);

/* column_value -- converts cells of any ordered type to values that `keep` compares. */

bm_value_form bm_value_form_of(const struct ArrowSchema *schema);
/* The value in a row, by the column's form. Its bytes are in the column, or in `texts`, which is
 * emptied first. */
bm_status bm_arrow_column_value(const bm_arrow_column *column, size_t row, bm_buf *texts,
                                bm_value *out, bm_error *err);
