/* column.h -- the cells of one column of an Arrow array: text, bytes or integers.
 *
 *     row r of the table is cell  table.offset + column.offset + r  of the column's buffers
 *
 *     utf8, binary   buffers: validity, offsets, bytes; cell c is bytes offsets[c] … offsets[c+1]-1
 *     integers       buffers: validity, values */
#ifndef BM_IO_SOURCES_COLUMN_H
#define BM_IO_SOURCES_COLUMN_H

#include <bandmill/types.h>

#include "io/sources/arrow_abi.h"

typedef enum bm_column_kind {
    BM_COLUMN_OTHER, /* what is not read here */
    BM_COLUMN_BYTES, /* utf8, binary; `width` bytes an offset */
    BM_COLUMN_INT,   /* `width` bytes a value */
    BM_COLUMN_UINT
} bm_column_kind;

typedef struct bm_column_type {
    bm_column_kind kind;
    uint8_t width;
} bm_column_type;

typedef struct bm_column {
    bm_column_type type;
    const uint8_t *validity; /* a bit a cell, lowest first; NULL: no nulls */
    const void *values;      /* integers, or the offsets of bytes */
    const char *bytes;
    uint64_t first; /* the cell of row 0 */
} bm_column;

#define BM_COLUMN_DIGITS 24u /* room for any integer */

bm_column_type bm_column_type_of(const struct ArrowSchema *schema);
/* The column `child` of a table, every row of which may then be asked for. Returns NULL, or what is
 * wrong with the array. Borrows it. */
const char *bm_column_open(const struct ArrowArray *table, size_t child, bm_column_type type,
                           bm_column *out);
bool bm_column_is_null(const bm_column *column, size_t row);
/* A cell of bytes; a cell of integers in decimal, written to `digits`. Not for nulls. */
bm_str bm_column_bytes(const bm_column *column, size_t row);
bm_str bm_column_decimal(const bm_column *column, size_t row, char digits[BM_COLUMN_DIGITS]);

#endif
