/* column.c -- see the header. Buffers have no lengths in this interface, so a table is trusted to
 * have as many cells as it says; offsets are checked, since they lead anywhere. */
#include "io/sources/column.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bm_column_type bm_column_type_of(const struct ArrowSchema *schema)
{
    static const struct {
        char format;
        bm_column_type type;
    } types[] = {
        {'u', {BM_COLUMN_BYTES, 4}}, {'U', {BM_COLUMN_BYTES, 8}}, {'z', {BM_COLUMN_BYTES, 4}},
        {'Z', {BM_COLUMN_BYTES, 8}}, {'c', {BM_COLUMN_INT, 1}},   {'s', {BM_COLUMN_INT, 2}},
        {'i', {BM_COLUMN_INT, 4}},   {'l', {BM_COLUMN_INT, 8}},   {'C', {BM_COLUMN_UINT, 1}},
        {'S', {BM_COLUMN_UINT, 2}},  {'I', {BM_COLUMN_UINT, 4}},  {'L', {BM_COLUMN_UINT, 8}}};
    if (schema->dictionary == NULL && strlen(schema->format) == 1)
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
            if (types[i].format == schema->format[0])
                return types[i].type;
    return (bm_column_type){BM_COLUMN_OTHER, 0};
}

/* The integer in cell `cell`, its sign extended where it has one. */
static uint64_t cell_value(const bm_column *column, uint64_t cell)
{
    const char *at = (const char *)column->values + cell * column->type.width;
    uint8_t v8;
    uint16_t v16;
    uint32_t v32;
    uint64_t v64;
    bool is_signed = column->type.kind == BM_COLUMN_INT;
    switch (column->type.width) {
    case 1:
        memcpy(&v8, at, 1);
        return is_signed ? (uint64_t)(int8_t)v8 : v8;
    case 2:
        memcpy(&v16, at, 2);
        return is_signed ? (uint64_t)(int16_t)v16 : v16;
    case 4:
        memcpy(&v32, at, 4);
        return is_signed ? (uint64_t)(int32_t)v32 : v32;
    default:
        memcpy(&v64, at, 8);
        return v64;
    }
}

/* Offsets of n cells never fall. (A negative one, read without its sign, is a large number.) */
static bool offsets_fit(const bm_column *column, uint64_t n)
{
    uint64_t before = cell_value(column, column->first);
    const uint64_t most = column->type.width == 4 ? INT32_MAX : INT64_MAX;
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t value = cell_value(column, column->first + i);
        if (value < before)
            return false;
        before = value;
    }
    return before <= most;
}

const char *bm_column_open(const struct ArrowArray *table, size_t child, bm_column_type type,
                           bm_column *out)
{
    if (table->n_children < 0 || child >= (uint64_t)table->n_children)
        return "fewer columns than its schema";
    const struct ArrowArray *array = table->children[child];
    const bool bytes = type.kind == BM_COLUMN_BYTES;
    if (table->offset < 0 || table->length < 0 || array->offset < 0 ||
        array->length - table->offset < table->length)
        return "fewer cells than the table has rows";
    if (array->n_buffers != (bytes ? 3 : 2))
        return "another number of buffers than its type has";
    *out = (bm_column){.type = type,
                       .validity = array->null_count != 0 ? array->buffers[0] : NULL,
                       .values = array->buffers[1],
                       .bytes = bytes ? array->buffers[2] : NULL,
                       .first = (uint64_t)table->offset + (uint64_t)array->offset};
    if (table->length == 0)
        return NULL;
    if (out->values == NULL)
        return "no buffer of values";
    if (!bytes)
        return NULL;
    if (!offsets_fit(out, (uint64_t)table->length))
        return "offsets that fall";
    if (out->bytes == NULL) /* as may be where all cells are empty */
        out->bytes = "";
    return NULL;
}

bool bm_column_is_null(const bm_column *column, size_t row)
{
    uint64_t cell = column->first + row;
    return column->validity != NULL && (column->validity[cell / 8] >> (cell % 8) & 1) == 0;
}

bm_str bm_column_bytes(const bm_column *column, size_t row)
{
    uint64_t begin = cell_value(column, column->first + row);
    uint64_t end = cell_value(column, column->first + row + 1);
    return (bm_str){.data = column->bytes + begin, .len = (size_t)(end - begin)};
}

bm_str bm_column_decimal(const bm_column *column, size_t row, char digits[BM_COLUMN_DIGITS])
{
    uint64_t value = cell_value(column, column->first + row);
    int len = column->type.kind == BM_COLUMN_INT
                  ? snprintf(digits, BM_COLUMN_DIGITS, "%" PRId64, (int64_t)value)
                  : snprintf(digits, BM_COLUMN_DIGITS, "%" PRIu64, value);
    return (bm_str){.data = digits, .len = (size_t)len};
}
