/* SPDX-License-Identifier: Apache-2.0 */
/* arrow_table.h -- for tests: tables made by hand and exported as an ArrowArrayStream.
 *
 * Buffers are laid out here after the specification of the C data interface, not by the code under
 * test. Each array counts its release, so a test can check that everything was released. */
#pragma once

#include <criterion/criterion.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/arrow.h>

#define TEST_COLUMNS_MAX 4
#define TEST_ROWS_MAX    16

/* A cell: text or a number, or null. */
typedef struct test_cell {
    const char *text; /* NULL: a null cell of a text column */
    int64_t number;
    bool null; /* a null cell of a number column */
} test_cell;

typedef struct test_column {
    const char *name, *format;
    test_cell cells[TEST_ROWS_MAX];
} test_column;

/* One array of the stream. `lead` cells of garbage precede the rows; the offset of the table skips
 * `table_lead` of them, and the offsets of the columns the rest. */
typedef struct test_array {
    size_t n_rows, lead, table_lead;
    test_column columns[TEST_COLUMNS_MAX];
} test_array;

typedef struct test_table {
    size_t n_columns, n_arrays, next;
    const test_array *arrays;
    int fail_at; /* get_next fails with fail_code at this array; -1: never */
    int fail_code;
    atomic_int *alive; /* arrays, schemas and streams not yet released */
} test_table;

static inline void test_release_schema(struct ArrowSchema *schema)
{
    atomic_fetch_sub((atomic_int *)schema->private_data, 1);
    for (int64_t i = 0; i < schema->n_children; i++)
        free(schema->children[i]);
    free(schema->children);
    schema->release = NULL;
}

static inline int test_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const test_table *table = stream->private_data;
    *out = (struct ArrowSchema){.format = "+s",
                                .name = "",
                                .n_children = (int64_t)table->n_columns,
                                .release = test_release_schema,
                                .private_data = table->alive};
    out->children = calloc(table->n_columns + 1, sizeof *out->children);
    for (size_t i = 0; i < table->n_columns; i++) {
        out->children[i] = calloc(1, sizeof **out->children);
        out->children[i]->format = table->arrays[0].columns[i].format;
        out->children[i]->name = table->arrays[0].columns[i].name;
    }
    atomic_fetch_add(table->alive, 1);
    return 0;
}

static inline void test_release_array(struct ArrowArray *array)
{
    atomic_fetch_sub((atomic_int *)array->private_data, 1);
    for (int64_t i = 0; i < array->n_children; i++) {
        for (int64_t b = 0; b < array->children[i]->n_buffers; b++)
            free((void *)array->children[i]->buffers[b]);
        free(array->children[i]->buffers);
        free(array->children[i]);
    }
    free(array->children);
    free(array->buffers);
    array->release = NULL;
}

static inline size_t test_width(char format)
{
    return strchr("cC", format)   ? 1
           : strchr("sS", format) ? 2
           : strchr("iI", format) ? 4
           : strchr("uz", format) ? 4
                                  : 8;
}

static inline bool test_is_text(char format)
{
    return strchr("uUzZ", format) != NULL;
}

/* Allocates buffers of exactly the size they need, so a sanitizer catches an access past them. */
static inline struct ArrowArray *test_column_array(const test_array *from,
                                                   const test_column *column)
{
    const size_t cells = from->lead + from->n_rows, width = test_width(column->format[0]);
    const bool text = test_is_text(column->format[0]);
    struct ArrowArray *out = calloc(1, sizeof *out);
    out->offset = (int64_t)(from->lead - from->table_lead);
    out->length = (int64_t)(from->table_lead + from->n_rows);
    out->n_buffers = text ? 3 : 2;
    out->buffers = calloc(3, sizeof *out->buffers);
    unsigned char *validity = calloc((cells + 7) / 8 + 1, 1);
    char *values = malloc((cells + text) * width + 1), *bytes = NULL;
    size_t len = 0;
    for (size_t i = 0; i <= cells; i++) {
        const bool rubbish = i < from->lead;
        const test_cell *cell = &column->cells[rubbish || i == cells ? 0 : i - from->lead];
        const int64_t value = text ? (int64_t)len : rubbish ? -77 : cell->number;
        if (i < cells || text)
            memcpy(values + i * width, &value, width);
        if (i == cells)
            break;
        const bool null = rubbish ? i % 2 == 0 : text ? cell->text == NULL : cell->null;
        out->null_count += null && i >= from->lead;
        validity[i / 8] |= (unsigned char)(!null << i % 8);
        const char *content = rubbish ? "rubbish" : null || !text ? "" : cell->text;
        bytes = realloc(bytes, len + strlen(content) + 1);
        memcpy(bytes + len, content, strlen(content));
        len += strlen(content);
    }
    out->buffers[0] = validity;
    out->buffers[1] = values;
    out->buffers[2] = bytes;
    if (out->null_count == 0) {
        free(validity);
        out->buffers[0] = NULL;
    }
    if (!text)
        free(bytes);
    return out;
}

static inline void test_fill_array(const test_table *table, const test_array *from,
                                   struct ArrowArray *out)
{
    *out = (struct ArrowArray){.length = (int64_t)from->n_rows,
                               .offset = (int64_t)from->table_lead,
                               .n_buffers = 1,
                               .n_children = (int64_t)table->n_columns,
                               .release = test_release_array,
                               .private_data = table->alive};
    out->buffers = calloc(1, sizeof *out->buffers);
    out->children = calloc(table->n_columns + 1, sizeof *out->children);
    for (size_t i = 0; i < table->n_columns; i++)
        out->children[i] = test_column_array(from, &from->columns[i]);
    atomic_fetch_add(table->alive, 1);
}

static inline int test_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    test_table *table = stream->private_data;
    if (table->fail_at >= 0 && table->next == (size_t)table->fail_at)
        return table->fail_code;
    memset(out, 0, sizeof *out);
    if (table->next < table->n_arrays)
        test_fill_array(table, &table->arrays[table->next++], out);
    return 0;
}

static inline const char *test_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the table is torn";
}

static inline void test_release_stream(struct ArrowArrayStream *stream)
{
    test_table *table = stream->private_data;
    atomic_fetch_sub(table->alive, 1);
    stream->release = NULL;
    free(table);
}

/* Makes a stream of these arrays, which must outlive it. *alive counts the stream and everything it
 * exports. */
static inline struct ArrowArrayStream test_stream(const test_array *arrays, size_t n_arrays,
                                                  size_t n_columns, atomic_int *alive)
{
    test_table *table = malloc(sizeof *table);
    *table = (test_table){.n_columns = n_columns,
                          .n_arrays = n_arrays,
                          .arrays = arrays,
                          .fail_at = -1,
                          .alive = alive};
    atomic_fetch_add(alive, 1);
    return (struct ArrowArrayStream){.get_schema = test_get_schema,
                                     .get_next = test_get_next,
                                     .get_last_error = test_last_error,
                                     .release = test_release_stream,
                                     .private_data = table};
}
