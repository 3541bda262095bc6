/* SPDX-License-Identifier: Apache-2.0 */
/* arrow_column.h -- the cells of one column of an Arrow array (bandmill/arrow.h): text, bytes or
 * integers.
 *
 *     row r of the table is cell  table.offset + column.offset + r  of the column's buffers; of a
 *     column inside a struct, the struct's own offset counts too, and a row whose struct is null
 *     is null
 *
 *     utf8, binary        buffers: validity, offsets, bytes; cell c is bytes offsets[c] …
 *                         offsets[c+1]-1
 *     utf8_view, …_view   buffers: validity, views of 16 bytes, any number of buffers of bytes, and
 *                         an array of their sizes; a cell of up to 12 bytes is in its view
 *     integers            buffers: validity, values
 *     null                no buffers, and every cell is null
 *     a dictionary        integers, each the number of a cell in an array of texts
 *     a list              buffers: validity, offsets; cell c is the cells offsets[c] …
 *                         offsets[c+1]-1 of its one child, so that a row may have any number of
 *                         values. Of a fixed size: no offsets */
#pragma once

#include <bandmill/arrow.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/keep_key.h"

typedef enum bm_arrow_column_kind {
    BM_ARROW_COLUMN_OTHER, /* a type that is not read here */
    BM_ARROW_COLUMN_BYTES, /* utf8, binary; `width` bytes an offset */
    BM_ARROW_COLUMN_VIEWS, /* utf8_view, binary_view */
    BM_ARROW_COLUMN_INT,   /* `width` bytes a value */
    BM_ARROW_COLUMN_UINT,
    BM_ARROW_COLUMN_NULLS /* of the type null: texts that are all missing */
} bm_arrow_column_kind;

typedef struct bm_arrow_column_type {
    bm_arrow_column_kind kind;
    uint8_t width;
    bm_arrow_column_kind in_kind; /* of a dictionary: of its indices, which are integers … */
    uint8_t in_width;             /* … of so many bytes; 0: it is not one */
} bm_arrow_column_type;

/* One array of cells. */
typedef struct bm_cells {
    bm_arrow_column_kind kind;
    uint8_t width;
    const uint8_t *validity; /* a bit a cell, lowest first; NULL: no nulls */
    const void *values;      /* integers, views, or the offsets of bytes */
    const char *bytes;
    const void *const *buffers; /* of views: the first of their buffers of bytes */
    uint64_t first;             /* the cell of row 0 */
} bm_cells;

#define BM_ARROW_COLUMN_DEPTH 16u /* steps in a path of columns */

typedef enum bm_arrow_column_step {
    BM_STEP_CHILD, /* of a struct, or of the table */
    BM_STEP_LIST   /* to the values of a list */
} bm_arrow_column_step;

/* The place of a column: the child of the table, the child of that child, … */
typedef struct bm_arrow_column_path {
    bool found; /* else there is no such column */
    bm_arrow_column_step step[BM_ARROW_COLUMN_DEPTH];
    /* The number of the child; of a list how many values each has, where that is fixed; else 0. */
    uint32_t child[BM_ARROW_COLUMN_DEPTH];
    uint8_t width[BM_ARROW_COLUMN_DEPTH]; /* of a list's offsets, in bytes */
    uint32_t n;                           /* 0: the array itself is the column */
} bm_arrow_column_path;

/* A level above a column: a struct with nulls, or a list. */
typedef struct bm_arrow_column_level {
    bool list;
    uint32_t fixed; /* values of each list; 0: there are offsets */
    bm_cells cells; /* validity; of a list its offsets */
} bm_arrow_column_level;

/* How the cells of a column are values that `keep` compares (arrow_column.h). */
typedef enum bm_value_form_kind {
    BM_FORM_MISSING, /* there is no such column */
    BM_FORM_OTHER,   /* its type has no order */
    BM_FORM_BOOL,    /* neither; but nulls are told from the rest */
    BM_FORM_TEXT,
    BM_FORM_INTEGER,
    BM_FORM_FLOAT,   /* of `width` bytes */
    BM_FORM_DECIMAL, /* `width` bytes, lowest first; `digits` of them after the point */
    BM_FORM_UUID,    /* `width` bytes; each is two letters of the text */
    BM_FORM_TIME /* a signed integer of `width` bytes: seconds, with `digits` decimals, or days */
} bm_value_form_kind;

typedef struct bm_value_form {
    bm_value_form_kind kind;
    uint8_t width;
    int digits;
    bool days, dated, clock; /* TIME: it counts days; it is since 1970; it has hours to seconds */
} bm_value_form;

typedef struct bm_arrow_column {
    bm_arrow_column_type type;
    bm_cells cells;      /* of a dictionary its indices */
    bm_cells dictionary; /* kind OTHER: it is not one */
    bm_arrow_column_level levels[BM_ARROW_COLUMN_DEPTH];
    uint32_t n_levels;
    bool many;          /* some of them are lists: rows have any number of values */
    bm_value_form form; /* of a field that `keep` looks at */
} bm_arrow_column;

#define BM_ARROW_COLUMN_DIGITS 24u /* space for any integer */

bm_arrow_column_type bm_arrow_column_type_of(const struct ArrowSchema *schema);
/* The name of a type, such as "int64"; for some, the letters of the C data interface. Borrows
 * it. */
const char *bm_arrow_column_type_name(const struct ArrowSchema *schema);
/* Its cells are texts or bytes. */
bool bm_arrow_column_is_text(bm_arrow_column_type type);
/* The column of this path; then every row of it may be read. Returns NULL, or the error of the
 * array. Borrows the array. */
const char *bm_arrow_column_open(const struct ArrowArray *table, const bm_arrow_column_path *path,
                                 bm_arrow_column_type type, bm_arrow_column *out);
/* `schema` is a list: the step to its values. */
bool bm_arrow_column_list_step(const struct ArrowSchema *schema, bm_arrow_column_path *path);
/* Where `many`, ask for its values. */
bool bm_arrow_column_is_null(const bm_arrow_column *column, size_t row);
/* A cell of text; a cell of integers in decimal, written to `digits`. Not for nulls. */
bm_str bm_arrow_column_bytes(const bm_arrow_column *column, size_t row);
/* The entry of its dictionary that a row points to; UINT64_MAX: it is not one, or null. Not where
 * `many`. */
uint64_t bm_arrow_column_entry(const bm_arrow_column *column, size_t row);
bm_str bm_arrow_column_decimal(const bm_arrow_column *column, size_t row,
                               char digits[BM_ARROW_COLUMN_DIGITS]);
/* A cell of integers, its sign extended where the type has one. Not for nulls. */
uint64_t bm_arrow_column_integer(const bm_arrow_column *column, size_t row);
/* A cell as an id, by the column's form (below): its text, which lies in the column or in `texts`
 * (emptied). Not for nulls. */
bm_status bm_arrow_column_id(const bm_arrow_column *column, size_t row, bm_buf *texts, bm_str *out,
                             bm_error *err);

/* Each text of a row, in order; one that is null, or is in a struct that is, is empty, and a
 * list that is null has none. Anything but BM_OK ends it. */
typedef bm_status (*bm_arrow_column_fn)(void *ctx, bm_str text, bm_error *err);
bm_status bm_arrow_column_each(const bm_arrow_column *column, size_t row, bm_arrow_column_fn fn,
                               void *ctx, bm_error *err);

/* column_value -- cells of any type that has an order, as the values of fields that `keep` looks
 * at. */

bm_value_form bm_value_form_of(const struct ArrowSchema *schema);
/* The value in a row, by the column's form; `texts` (emptied) has its bytes if they are not in the
 * column. */
bm_status bm_arrow_column_value(const bm_arrow_column *column, size_t row, bm_buf *texts,
                                bm_value *out, bm_error *err);
