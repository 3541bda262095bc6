/* SPDX-License-Identifier: Apache-2.0 */
/* arrow_column.c -- see the header. The interface does not state the lengths of buffers, so the
 * buffers are trusted to have the stated number of cells. Offsets, views and indices are checked,
 * because they could lead anywhere.
 *
 * Tests: tests/reference/test_keep.py, tests/unit/sources/test_arrow_column.c,
 *        tests/unit/sources/test_source_columns.c */
#include "sources/arrow_column.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define VIEW_BYTES  16u
#define VIEW_INLINE 12

/* --- types --- */

static bm_arrow_column_type plain_type(const char *format)
{
    static const struct {
        char format[3];
        bm_arrow_column_type type;
    } types[] = {{"u", {BM_ARROW_COLUMN_BYTES, 4, BM_ARROW_COLUMN_OTHER, 0}},
                 {"U", {BM_ARROW_COLUMN_BYTES, 8, BM_ARROW_COLUMN_OTHER, 0}},
                 {"z", {BM_ARROW_COLUMN_BYTES, 4, BM_ARROW_COLUMN_OTHER, 0}},
                 {"Z", {BM_ARROW_COLUMN_BYTES, 8, BM_ARROW_COLUMN_OTHER, 0}},
                 {"vu", {BM_ARROW_COLUMN_VIEWS, 0, BM_ARROW_COLUMN_OTHER, 0}},
                 {"vz", {BM_ARROW_COLUMN_VIEWS, 0, BM_ARROW_COLUMN_OTHER, 0}},
                 {"c", {BM_ARROW_COLUMN_INT, 1, BM_ARROW_COLUMN_OTHER, 0}},
                 {"s", {BM_ARROW_COLUMN_INT, 2, BM_ARROW_COLUMN_OTHER, 0}},
                 {"i", {BM_ARROW_COLUMN_INT, 4, BM_ARROW_COLUMN_OTHER, 0}},
                 {"l", {BM_ARROW_COLUMN_INT, 8, BM_ARROW_COLUMN_OTHER, 0}},
                 {"C", {BM_ARROW_COLUMN_UINT, 1, BM_ARROW_COLUMN_OTHER, 0}},
                 {"S", {BM_ARROW_COLUMN_UINT, 2, BM_ARROW_COLUMN_OTHER, 0}},
                 {"I", {BM_ARROW_COLUMN_UINT, 4, BM_ARROW_COLUMN_OTHER, 0}},
                 {"L", {BM_ARROW_COLUMN_UINT, 8, BM_ARROW_COLUMN_OTHER, 0}},
                 {"n", {BM_ARROW_COLUMN_NULLS, 0, BM_ARROW_COLUMN_OTHER, 0}}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].format, format) == 0)
            return types[i].type;
    return (bm_arrow_column_type){.kind = BM_ARROW_COLUMN_OTHER};
}

bool bm_arrow_column_is_text(bm_arrow_column_type type)
{
    return type.kind == BM_ARROW_COLUMN_BYTES || type.kind == BM_ARROW_COLUMN_VIEWS ||
           type.kind == BM_ARROW_COLUMN_NULLS;
}

const char *bm_arrow_column_type_name(const struct ArrowSchema *schema)
{
    static const struct {
        const char *format, *name;
    } names[] = {{"n", "null"},   {"b", "boolean"}, {"e", "half float"},   {"f", "float"},
                 {"g", "double"}, {"c", "int8"},    {"s", "int16"},        {"i", "int32"},
                 {"l", "int64"},  {"C", "uint8"},   {"S", "uint16"},       {"I", "uint32"},
                 {"L", "uint64"}, {"u", "utf8"},    {"U", "large_utf8"},   {"vu", "utf8_view"},
                 {"z", "binary"}, {"+s", "struct"}, {"Z", "large_binary"}, {"vz", "binary_view"},
                 {"+l", "list"},  {"+m", "map"},    {"+L", "large_list"}};
    /* the formats of these types go on with widths, units or time zones */
    static const struct {
        const char *begin, *name;
    } families[] = {{"w:", "fixed_size_binary"},
                    {"d:", "decimal"},
                    {"+w:", "fixed_size_list"},
                    {"td", "date"},
                    {"tt", "time"},
                    {"ts", "timestamp"},
                    {"tD", "duration"},
                    {"ti", "interval"}};
    if (schema->dictionary != NULL)
        return "dictionary";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].format, schema->format) == 0)
            return names[i].name;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (strncmp(schema->format, families[i].begin, strlen(families[i].begin)) == 0)
            return families[i].name;
    return schema->format;
}

bm_arrow_column_type bm_arrow_column_type_of(const struct ArrowSchema *schema)
{
    const bm_arrow_column_type own = plain_type(schema->format);
    if (schema->dictionary == NULL)
        return own;
    bm_arrow_column_type type = plain_type(schema->dictionary->format);
    if (!bm_arrow_column_is_text(type) || type.kind == BM_ARROW_COLUMN_NULLS ||
        schema->dictionary->dictionary != NULL ||
        (own.kind != BM_ARROW_COLUMN_INT && own.kind != BM_ARROW_COLUMN_UINT))
        return (bm_arrow_column_type){.kind = BM_ARROW_COLUMN_OTHER};
    type.in_kind = own.kind;
    type.in_width = own.width;
    return type;
}

/* --- cells --- */

/* The integer in cell `cell`, sign-extended if the type is signed. */
static uint64_t cell_value(const bm_cells *cells, uint64_t cell)
{
    const char *at = (const char *)cells->values + cell * cells->width;
    uint8_t v8;
    uint16_t v16;
    uint32_t v32;
    uint64_t v64;
    const bool is_signed = cells->kind == BM_ARROW_COLUMN_INT;
    switch (cells->width) {
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

static bool cell_is_null(const bm_cells *cells, uint64_t cell)
{
    return cells->validity != NULL && (cells->validity[cell / 8] >> (cell % 8) & 1) == 0;
}

typedef struct view {
    int32_t len;
    char head[4];
    int32_t buffer, offset; /* location of the bytes if `len` is more than VIEW_INLINE */
} view;

static view view_at(const bm_cells *cells, uint64_t cell)
{
    view v;
    memcpy(&v, (const char *)cells->values + cell * VIEW_BYTES, sizeof v);
    return v;
}

static bm_str view_bytes(const bm_cells *cells, uint64_t cell)
{
    const view v = view_at(cells, cell);
    const char *at = v.len <= VIEW_INLINE
                         ? (const char *)cells->values + cell * VIEW_BYTES + sizeof v.len
                         : (const char *)cells->buffers[v.buffer] + v.offset;
    return (bm_str){.data = at, .len = (size_t)v.len};
}

static bm_str cell_bytes(const bm_cells *cells, uint64_t cell)
{
    if (cells->kind == BM_ARROW_COLUMN_VIEWS)
        return view_bytes(cells, cell);
    const uint64_t begin = cell_value(cells, cell), end = cell_value(cells, cell + 1);
    return (bm_str){.data = cells->bytes + begin, .len = (size_t)(end - begin)};
}

/* --- opening --- */

/* Are the offsets of n cells in ascending order? (A negative offset, read as unsigned, is very
 * large.) */
static bool offsets_fit(const bm_cells *cells, uint64_t n)
{
    uint64_t before = cell_value(cells, cells->first);
    const uint64_t most = cells->width == 4 ? INT32_MAX : INT64_MAX;
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t value = cell_value(cells, cells->first + i);
        if (value < before)
            return false;
        before = value;
    }
    return before <= most;
}

/* Are all views of n cells, except those of nulls, inside their buffers? */
static bool views_fit(const bm_cells *cells, uint64_t n, const struct ArrowArray *array)
{
    const int64_t n_buffers = array->n_buffers - 3;
    const int64_t *sizes = array->buffers[array->n_buffers - 1];
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t cell = cells->first + i;
        if (cell_is_null(cells, cell))
            continue;
        const view v = view_at(cells, cell);
        if (v.len < 0)
            return false;
        if (v.len <= VIEW_INLINE)
            continue;
        int64_t size;
        if (v.buffer < 0 || v.buffer >= n_buffers || v.offset < 0)
            return false;
        memcpy(&size, sizes + v.buffer, sizeof size);
        if ((int64_t)v.offset + v.len > size)
            return false;
    }
    return true;
}

static const char *open_bytes(const struct ArrowArray *array, uint64_t n, bm_cells *out)
{
    static const char nothing[] = "";
    out->bytes = array->buffers[2];
    if (n > 0 && !offsets_fit(out, n))
        return "offsets that fall";
    if (out->bytes == NULL) /* allowed if all cells are empty */
        out->bytes = nothing;
    return NULL;
}

/* Open n cells of an array, beginning with cell `first`. out->kind must be set. Returns NULL, or a
 * description of the error in the array. */
static const char *open_cells(const struct ArrowArray *array, uint64_t first, uint64_t n,
                              bm_cells *out)
{
    const bool views = out->kind == BM_ARROW_COLUMN_VIEWS,
               bytes = out->kind == BM_ARROW_COLUMN_BYTES;
    /* this type has no buffers, but some writers send one */
    if (out->kind == BM_ARROW_COLUMN_NULLS)
        return array->n_buffers > 1 ? "another number of buffers than its type has" : NULL;
    if (views ? array->n_buffers < 3 : array->n_buffers != (bytes ? 3 : 2))
        return "another number of buffers than its type has";
    out->validity = array->null_count != 0 ? array->buffers[0] : NULL;
    out->values = array->buffers[1];
    out->buffers = array->buffers + 2;
    out->first = first;
    if (n > 0 && out->values == NULL)
        return "no buffer of values";
    if (views && n > 0 && array->n_buffers > 3 && array->buffers[array->n_buffers - 1] == NULL)
        return "no sizes of its buffers";
    if (views && n > 0 && !views_fit(out, n, array))
        return "views that lead out of their buffers";
    return bytes ? open_bytes(array, n, out) : NULL;
}

static const char *open_dictionary(const struct ArrowArray *array, uint64_t n, bm_arrow_column *out)
{
    const struct ArrowArray *words = array->dictionary;
    if (words == NULL || words->length < 0 || words->offset < 0)
        return "no dictionary";
    out->dictionary = (bm_cells){.kind = out->type.kind, .width = out->type.width};
    const char *wrong =
        open_cells(words, (uint64_t)words->offset, (uint64_t)words->length, &out->dictionary);
    for (uint64_t i = 0; i < n && wrong == NULL; i++)
        if (!cell_is_null(&out->cells, out->cells.first + i) &&
            cell_value(&out->cells, out->cells.first + i) >= (uint64_t)words->length)
            wrong = "indices that its dictionary does not have";
    return wrong;
}

/* A step of the descent to a column: an array, and those of its cells that belong to rows of the
 * table. */
typedef struct cell_range {
    const struct ArrowArray *array;
    /* the cell of row 0; inside a list: the cell of value 0 */
    uint64_t first;
    /* The rows (inside a list: the values) from number `begin` to begin + n - 1. */
    uint64_t begin, n;
} cell_range;

static const char *into_child(cell_range *at, uint32_t child)
{
    if (at->array->n_children < 0 || child >= (uint64_t)at->array->n_children)
        return "fewer columns than its schema";
    at->array = at->array->children[child];
    const uint64_t behind = at->first + at->begin + at->n; /* the child needs this many cells */
    if (at->array->offset < 0 || at->array->length < 0 || (uint64_t)at->array->length < behind ||
        (uint64_t)at->array->offset > INT64_MAX - behind)
        return "fewer cells than the table has rows";
    at->first += (uint64_t)at->array->offset;
    return NULL;
}

/* Descend from a list to its values. */
static const char *into_list(cell_range *at, const bm_arrow_column_path *path, uint32_t i,
                             bm_arrow_column *out)
{
    const struct ArrowArray *list = at->array;
    const uint32_t fixed = path->child[i];
    if (list->n_buffers != (path->width[i] == 0 ? 1 : 2) || list->n_children != 1)
        return "another number of buffers than its type has";
    bm_arrow_column_level *level = &out->levels[out->n_levels++];
    *level = (bm_arrow_column_level){
        .list = true,
        .fixed = fixed,
        .cells = {.kind = BM_ARROW_COLUMN_BYTES,
                  .width = path->width[i],
                  .validity = list->null_count != 0 ? list->buffers[0] : NULL,
                  .first = at->first}};
    out->many = true;
    const uint64_t first = at->first + at->begin;
    at->first = 0;
    if (path->width[i] == 0) {
        if (fixed != 0 && first + at->n > INT64_MAX / fixed)
            return "fewer cells than the table has rows";
        at->begin = first * fixed;
        at->n *= fixed;
        return into_child(at, 0);
    }
    level->cells.values = list->buffers[1];
    if (at->n == 0) {
        at->begin = 0;
        return into_child(at, 0);
    }
    if (level->cells.values == NULL)
        return "no buffer of values";
    const bm_cells cells = {.values = level->cells.values, .width = path->width[i], .first = first};
    if (!offsets_fit(&cells, at->n))
        return "offsets that fall";
    at->begin = cell_value(&cells, first);
    at->n = cell_value(&cells, first + at->n) - at->begin;
    return into_child(at, 0);
}

/* Descend from the table to the array of the column. Lists and structs with nulls on the way become
 * levels of `out`. Returns NULL, or a description of the error in the array. */
static const char *descend(const struct ArrowArray *table, const bm_arrow_column_path *path,
                           cell_range *at, bm_arrow_column *out)
{
    if (table->offset < 0 || table->length < 0 || table->offset > INT64_MAX - table->length)
        return "a negative number of rows";
    *at = (cell_range){table, (uint64_t)table->offset, 0, (uint64_t)table->length};
    const char *wrong = NULL;
    for (uint32_t i = 0; i < path->n && wrong == NULL; i++) {
        if (path->step[i] == BM_STEP_LIST) {
            wrong = into_list(at, path, i, out);
            continue;
        }
        const struct ArrowArray *parent = at->array;
        if (i > 0 && parent->n_buffers != 1)
            return "another number of buffers than its type has";
        if (i > 0 && parent->null_count != 0 && parent->buffers[0] != NULL)
            out->levels[out->n_levels++] = (bm_arrow_column_level){
                .cells = {.validity = parent->buffers[0], .first = at->first}};
        wrong = into_child(at, path->child[i]);
    }
    return wrong;
}

bool bm_arrow_column_list_step(const struct ArrowSchema *schema, bm_arrow_column_path *path)
{
    const uint32_t i = path->n;
    const bool is_wide = strcmp(schema->format, "+L") == 0,
               is_fixed = strncmp(schema->format, "+w:", 3) == 0;
    if ((strcmp(schema->format, "+l") != 0 && !is_wide && !is_fixed) || schema->n_children != 1 ||
        i >= BM_ARROW_COLUMN_DEPTH)
        return false;
    const unsigned long long fixed = is_fixed ? strtoull(schema->format + 3, NULL, 10) : 0;
    path->step[i] = BM_STEP_LIST;
    path->child[i] = (uint32_t)fixed;
    path->width[i] = is_fixed ? 0 : is_wide ? 8 : 4;
    path->n++;
    return fixed <= INT32_MAX;
}

const char *bm_arrow_column_open(const struct ArrowArray *table, const bm_arrow_column_path *path,
                                 bm_arrow_column_type type, bm_arrow_column *out)
{
    cell_range at;
    *out = (bm_arrow_column){.type = type, .cells = {.kind = type.kind, .width = type.width}};
    const bool indexed = type.in_width != 0;
    if (indexed)
        out->cells = (bm_cells){.kind = type.in_kind, .width = type.in_width};
    const char *wrong = descend(table, path, &at, out);
    if (wrong != NULL)
        return wrong;
    wrong = open_cells(at.array, at.first + at.begin, at.n, &out->cells);
    if (wrong == NULL && indexed)
        wrong = open_dictionary(at.array, at.n, out);
    out->cells.first = at.first;
    return wrong;
}

/* --- rows --- */

static bool is_null(const bm_arrow_column *column, uint64_t number)
{
    const uint64_t cell = column->cells.first + number;
    if (cell_is_null(&column->cells, cell) || column->cells.kind == BM_ARROW_COLUMN_NULLS)
        return true;
    return column->type.in_width != 0 &&
           cell_is_null(&column->dictionary,
                        column->dictionary.first + cell_value(&column->cells, cell));
}

bool bm_arrow_column_is_null(const bm_arrow_column *column, size_t row)
{
    for (uint32_t i = 0; i < column->n_levels; i++)
        if (cell_is_null(&column->levels[i].cells, column->levels[i].cells.first + row))
            return true;
    return is_null(column, row);
}

bm_str bm_arrow_column_bytes(const bm_arrow_column *column, size_t row)
{
    const uint64_t cell = column->cells.first + row;
    if (column->type.in_width == 0)
        return cell_bytes(&column->cells, cell);
    return cell_bytes(&column->dictionary,
                      column->dictionary.first + cell_value(&column->cells, cell));
}

uint64_t bm_arrow_column_entry(const bm_arrow_column *column, size_t row)
{
    return column->type.in_width == 0 || bm_arrow_column_is_null(column, row)
               ? UINT64_MAX
               : cell_value(&column->cells, column->cells.first + row);
}

uint64_t bm_arrow_column_integer(const bm_arrow_column *column, size_t row)
{
    return cell_value(&column->cells, column->cells.first + row);
}

bm_str bm_arrow_column_decimal(const bm_arrow_column *column, size_t row,
                               char digits[BM_ARROW_COLUMN_DIGITS])
{
    const uint64_t value = bm_arrow_column_integer(column, row);
    int len = column->type.kind == BM_ARROW_COLUMN_INT
                  ? snprintf(digits, BM_ARROW_COLUMN_DIGITS, "%" PRId64, (int64_t)value)
                  : snprintf(digits, BM_ARROW_COLUMN_DIGITS, "%" PRIu64, value);
    return (bm_str){.data = digits, .len = (size_t)len};
}

/* The parameters of a walk over the values of a row. They are the same at every level. */
typedef struct walk {
    const bm_arrow_column *column;
    bm_arrow_column_fn fn;
    void *ctx;
} walk;

/* Visit the values in cell `number` of level i. The recursion is at most 16 levels deep. */
static bm_status walk_from(const walk *w, uint32_t i, uint64_t number, bm_error *err)
{
    const bm_arrow_column *column = w->column;
    for (; i < column->n_levels; i++) {
        const bm_arrow_column_level *level = &column->levels[i];
        const uint64_t cell = level->cells.first + number;
        const bool null = cell_is_null(&level->cells, cell);
        if (null && !level->list)
            return w->fn(w->ctx, (bm_str){.data = ""}, err);
        if (!level->list)
            continue;
        if (null)
            return BM_OK;
        uint64_t at =
            level->cells.width == 0 ? cell * level->fixed : cell_value(&level->cells, cell);
        const uint64_t end =
            level->cells.width == 0 ? at + level->fixed : cell_value(&level->cells, cell + 1);
        for (; at < end; at++)
            BM_TRY(walk_from(w, i + 1, at, err));
        return BM_OK;
    }
    const bm_str text = is_null(column, number) ? (bm_str){.data = ""}
                                                : bm_arrow_column_bytes(column, (size_t)number);
    return w->fn(w->ctx, text, err);
}

bm_status bm_arrow_column_each(const bm_arrow_column *column, size_t row, bm_arrow_column_fn fn,
                               void *ctx, bm_error *err)
{
    const walk w = {column, fn, ctx};
    return walk_from(&w, 0, row, err);
}

/* === column value ===
 *
 * Numbers except floats are returned as decimal digits, so that one function (keep_key.c) compares
 * the numbers of all inputs. */

#define DAY_SECONDS 86400

/* --- types --- */

static int digits_of_unit(char unit)
{
    return unit == 'm' ? 3 : unit == 'u' ? 6 : unit == 'n' ? 9 : 0;
}

/* The form of a date or time. Formats: tdD tdm, tts ttm ttu ttn, tss:ZONE … tsn:ZONE, tDs … tDn.
 * Other times (intervals) have no order. */
static bm_value_form form_of_time(const char *format)
{
    bm_value_form form = {.kind = BM_FORM_TIME, .width = 8, .digits = digits_of_unit(format[2])};
    switch (format[1]) {
    case 'd':
        form.dated = true;
        form.days = format[2] == 'D';
        form.width = form.days ? 4 : 8;
        return form;
    case 't':
        form.clock = true;
        form.width = form.digits <= 3 ? 4 : 8;
        return form;
    case 's':
        form.dated = form.clock = true;
        return form;
    case 'D':
        return form;
    default: /* intervals have parts that cannot be compared */
        return (bm_value_form){.kind = BM_FORM_OTHER};
    }
}

/* The form of a decimal. Formats: d:precision,scale or d:precision,scale,bits. A format with other
 * bits than 32, 64 … 256 has no order. */
static bm_value_form form_of_decimal(const char *format)
{
    int precision = 0, scale = 0, bits = 128;
    if (sscanf(format, "d:%d,%d,%d", &precision, &scale, &bits) < 2 || bits < 32 || bits > 256 ||
        bits % 32 != 0)
        return (bm_value_form){.kind = BM_FORM_OTHER};
    return (bm_value_form){.kind = BM_FORM_DECIMAL, .width = (uint8_t)(bits / 8), .digits = scale};
}

bm_value_form bm_value_form_of(const struct ArrowSchema *schema)
{
    const bm_arrow_column_type type = bm_arrow_column_type_of(schema);
    const char *format = schema->format;
    if (bm_arrow_column_is_text(type))
        return (bm_value_form){.kind = BM_FORM_TEXT};
    if (schema->dictionary != NULL)
        return (bm_value_form){.kind = BM_FORM_OTHER};
    if (type.kind == BM_ARROW_COLUMN_INT || type.kind == BM_ARROW_COLUMN_UINT)
        return (bm_value_form){.kind = BM_FORM_INTEGER};
    if (format[0] != '\0' && strchr("efg", format[0]) != NULL && format[1] == '\0')
        return (bm_value_form){.kind = BM_FORM_FLOAT,
                               .width = format[0] == 'e'   ? 2
                                        : format[0] == 'f' ? 4
                                                           : 8};
    if (format[0] == 'b')
        return (bm_value_form){.kind = BM_FORM_BOOL};
    if (format[0] == 'd')
        return form_of_decimal(format);
    if (strcmp(format, "w:16") == 0)
        return (bm_value_form){.kind = BM_FORM_UUID, .width = 16};
    if (format[0] == 't' && format[1] != '\0' && format[2] != '\0')
        return form_of_time(format);
    return (bm_value_form){.kind = BM_FORM_OTHER};
}

/* --- values --- */

static double half_to_double(uint16_t half)
{
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double magnitude = exponent == 31  ? (fraction != 0 ? NAN : HUGE_VAL)
                             : exponent == 0 ? ldexp(fraction, -24)
                                             : ldexp(fraction + 1024, exponent - 25);
    return half >> 15 != 0 ? -magnitude : magnitude;
}

/* Read a float. NaN, whatever its sign, is a value without an order. */
static void read_float(const char *cell, uint8_t width, bm_value *out)
{
    uint16_t half;
    float single;
    double number;
    if (width == sizeof half) {
        memcpy(&half, cell, sizeof half);
        number = half_to_double(half);
    } else if (width == sizeof single) {
        memcpy(&single, cell, sizeof single);
        number = single;
    } else {
        memcpy(&number, cell, sizeof number);
    }
    *out = isnan(number) ? (bm_value){.kind = BM_VALUE_OTHER}
                         : (bm_value){.kind = BM_VALUE_REAL, .real = number};
}

/* Append the decimal number whole / 10^digits, with a minus sign if it is `negative`. If `digits`
 * is above 0, that many digits follow the point; "7" with 3 digits is "0.007". If `digits` is below
 * 0, -digits zeros follow `whole`. */
static bm_status add_fixed(bm_buf *out, bool negative, const char *whole, int digits, bm_error *err)
{
    const size_t len = strlen(whole), behind = digits > 0 ? (size_t)digits : 0;
    if (negative)
        BM_TRY(bm_buf_add(out, "-", 1, err));
    if (len <= behind)
        BM_TRY(bm_buf_add(out, "0", 1, err));
    else
        BM_TRY(bm_buf_add(out, whole, len - behind, err));
    if (behind > 0)
        BM_TRY(bm_buf_add(out, ".", 1, err));
    for (size_t i = len; i < behind; i++)
        BM_TRY(bm_buf_add(out, "0", 1, err));
    for (int i = digits; i < 0; i++)
        BM_TRY(bm_buf_add(out, "0", 1, err));
    return behind > 0 ? bm_buf_add(out, whole + len - (len < behind ? len : behind),
                                   len < behind ? len : behind, err)
                      : BM_OK;
}

/* Write the digits of a two's complement integer of `width` bytes (little-endian), without its
 * sign, and set *negative. The digits come from repeated division by ten. */
static void spell_integer(const char *cell, size_t width, bool *negative, char *out)
{
    unsigned char bytes[32];
    char reversed[96];
    size_t n = 0;
    memcpy(bytes, cell, width);
    *negative = bytes[width - 1] >> 7 != 0;
    for (size_t i = 0, carry = 1; *negative && i < width; i++) {
        const size_t byte = (size_t)(unsigned char)~bytes[i] + carry;
        bytes[i] = (unsigned char)byte;
        carry = byte >> 8;
    }
    for (bool more = true; more; n++) {
        unsigned rest = 0;
        more = false;
        for (size_t i = width; i > 0; i--) {
            const unsigned byte = rest << 8 | bytes[i - 1];
            bytes[i - 1] = (unsigned char)(byte / 10);
            rest = byte % 10;
            more = more || bytes[i - 1] != 0;
        }
        reversed[n] = (char)('0' + rest);
    }
    for (size_t i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    out[n] = '\0';
}

static bm_status read_decimal(const char *cell, const bm_value_form *form, bm_buf *texts,
                              bm_value *out, bm_error *err)
{
    char whole[96];
    bool negative;
    spell_integer(cell, form->width, &negative, whole);
    BM_TRY(add_fixed(texts, negative, whole, form->digits, err));
    const bm_str text = {texts->data, texts->len};
    *out = (bm_value){.kind = BM_VALUE_EXACT, .text = text, .number = text};
    return BM_OK;
}

/* Write a UUID as text: 6ba7b810-9dad-11d1-80b4-00c04fd430c8 */
static bm_status read_uuid(const char *cell, bm_buf *texts, bm_value *out, bm_error *err)
{
    static const char letters[] = "0123456789abcdef";
    char text[36];
    size_t len = 0;
    for (size_t i = 0; i < 16; i++) {
        const unsigned char byte = (unsigned char)cell[i];
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text[len++] = '-';
        text[len++] = letters[byte >> 4];
        text[len++] = letters[byte & 15];
    }
    BM_TRY(bm_buf_add(texts, text, len, err));
    *out = (bm_value){.kind = BM_VALUE_STRING, .text = {texts->data, texts->len}};
    return BM_OK;
}

/* Append a date. Day 0 is 1970-01-01 of the proleptic Gregorian calendar. The year is found by eras
 * of 400 years that begin on a 1st of March. */
static bm_status add_date(bm_buf *out, int64_t day, bm_error *err)
{
    const int64_t shifted = day + 719468;
    const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    const int64_t of_era = shifted - era * 146097;
    const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month = (5 * of_year + 2) / 153;
    const int64_t year = year_of_era + era * 400 + (month >= 10);
    return bm_buf_add_format(out, err, "%04lld-%02d-%02d", (long long)year,
                             (int)(month < 10 ? month + 3 : month - 9),
                             (int)(of_year - (153 * month + 2) / 5 + 1));
}

/* Append 2024-01-31, 12:30:00.250, or both with a T between them. */
static bm_status add_calendar(bm_buf *out, int64_t value, const bm_value_form *form, bm_error *err)
{
    int64_t unit = 1;
    for (int i = 0; i < form->digits; i++)
        unit *= 10;
    const int64_t a_day = form->days ? 1 : unit * DAY_SECONDS;
    const int64_t day = value / a_day - (value % a_day < 0), rest = value - day * a_day;
    if (form->dated)
        BM_TRY(add_date(out, day, err));
    if (!form->clock)
        return BM_OK;
    const int64_t seconds = rest / unit;
    BM_TRY(bm_buf_add_format(out, err, "%s%02d:%02d:%02d", form->dated ? "T" : "",
                             (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60)));
    return form->digits > 0
               ? bm_buf_add_format(out, err, ".%0*lld", form->digits, (long long)(rest % unit))
               : BM_OK;
}

static bm_status read_time(const char *cell, const bm_value_form *form, bm_buf *texts,
                           bm_value *out, bm_error *err)
{
    int32_t narrow;
    int64_t value;
    char whole[24];
    if (form->width == sizeof narrow) {
        memcpy(&narrow, cell, sizeof narrow);
        value = narrow;
    } else {
        memcpy(&value, cell, sizeof value);
    }
    const uint64_t magnitude = value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;
    snprintf(whole, sizeof whole, "%llu",
             (unsigned long long)(form->days ? magnitude * DAY_SECONDS : magnitude));
    BM_TRY(add_fixed(texts, value < 0, whole, form->digits, err));
    const size_t len = texts->len;
    if (form->dated || form->clock)
        BM_TRY(add_calendar(texts, value, form, err));
    const bm_str number = {texts->data, len}, text = {texts->data + len, texts->len - len};
    *out =
        (bm_value){.kind = BM_VALUE_EXACT, .text = text.len > 0 ? text : number, .number = number};
    return BM_OK;
}

/* Append one text of a row's lists, and a newline. The texts of text fields are joined in the same
 * way. */
static bm_status join(void *ctx, bm_str text, bm_error *err)
{
    bm_buf *out = ctx;
    BM_TRY(bm_buf_add(out, text.data, text.len, err));
    return bm_buf_add(out, "\n", 1, err);
}

static bm_status join_lists(const bm_arrow_column *column, size_t row, bm_buf *texts, bm_value *out,
                            bm_error *err)
{
    BM_TRY(bm_arrow_column_each(column, row, join, texts, err));
    *out = (bm_value){
        .kind = BM_VALUE_STRING,
        .text = {texts->len > 0 ? texts->data : "", texts->len > 0 ? texts->len - 1 : 0}};
    return BM_OK;
}

bm_status bm_arrow_column_value(const bm_arrow_column *column, size_t row, bm_buf *texts,
                                bm_value *out, bm_error *err)
{
    const bm_value_form *form = &column->form;
    char digits[BM_ARROW_COLUMN_DIGITS];
    *out = (bm_value){.kind = form->kind == BM_FORM_MISSING ? BM_VALUE_ABSENT : BM_VALUE_OTHER};
    texts->len = 0;
    if (form->kind <= BM_FORM_OTHER)
        return BM_OK;
    if (column->many)
        return form->kind == BM_FORM_TEXT ? join_lists(column, row, texts, out, err) : BM_OK;
    if (bm_arrow_column_is_null(column, row)) {
        out->kind = BM_VALUE_MISSING;
        return BM_OK;
    }
    if (form->kind == BM_FORM_BOOL)
        return BM_OK;
    if (form->kind == BM_FORM_TEXT) {
        *out = (bm_value){.kind = BM_VALUE_STRING, .text = bm_arrow_column_bytes(column, row)};
        return BM_OK;
    }
    if (form->kind == BM_FORM_INTEGER) {
        const bm_str number = bm_arrow_column_decimal(column, row, digits);
        BM_TRY(bm_buf_add(texts, number.data, number.len, err));
        const bm_str text = {texts->data, texts->len};
        *out = (bm_value){.kind = BM_VALUE_NUMBER, .text = text, .number = text};
        return BM_OK;
    }
    const char *cell =
        (const char *)column->cells.values + (column->cells.first + row) * form->width;
    if (form->kind == BM_FORM_DECIMAL)
        return read_decimal(cell, form, texts, out, err);
    if (form->kind == BM_FORM_UUID)
        return read_uuid(cell, texts, out, err);
    if (form->kind == BM_FORM_TIME)
        return read_time(cell, form, texts, out, err);
    read_float(cell, form->width, out);
    return BM_OK;
}

bm_status bm_arrow_column_id(const bm_arrow_column *column, size_t row, bm_buf *texts, bm_str *out,
                             bm_error *err)
{
    bm_value value;
    BM_TRY(bm_arrow_column_value(column, row, texts, &value, err));
    *out = value.text;
    return BM_OK;
}
