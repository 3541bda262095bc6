/* parse_row.h -- the cells of one row of tsv or csv.
 *
 *     bm_row row = bm_row_begin(content, syntax);
 *     bm_cell cell;
 *     while (bm_row_next(&row, &cell)) …
 *     if (row.broken != NULL) … it is no row of RFC 4180
 *
 * An empty row has one empty cell. No copies: a cell is a view of the row; only one that holds ""
 * must be rewritten (bm_cell_plain). */
#ifndef BM_IO_FORMATS_PARSE_ROW_H
#define BM_IO_FORMATS_PARSE_ROW_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

typedef struct bm_row_syntax {
    char delimiter; /* between cells */
    bool quoted;    /* RFC 4180: cells may stand in quotes */
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

/* Does the byte end a cell that stands in no quotes? */
static inline bool bm_row_splits_at(bm_row_syntax syntax, char byte)
{
    return byte == syntax.delimiter;
}

bm_row bm_row_begin(bm_str content, bm_row_syntax syntax);
/* false: no more cells, or the row is broken. */
bool bm_row_next(bm_row *row, bm_cell *cell);
/* Where a broken row stands. */
typedef struct bm_row_place {
    const char *begin; /* its first byte */
    uint64_t line;     /* of that byte */
    uint64_t n_behind; /* lines behind that one that belong to the row */
} bm_row_place;

/* Why a row is broken, for people: where a cell in quotes begins, and how many lines it swallowed.
 */
void bm_row_explain(const bm_row *row, const bm_row_place *place, char *out, size_t cap);
/* Append what stands between two cells. */
static inline bm_status bm_row_split(bm_row_syntax syntax, bm_buf *out, bm_error *err)
{
    return bm_buf_add(out, &syntax.delimiter, 1, err);
}
/* Append the cell to `out` with each "" as one quote; *value is a view of what was appended. */
bm_status bm_cell_plain(const bm_cell *cell, bm_buf *out, bm_str *value, bm_error *err);

#endif
