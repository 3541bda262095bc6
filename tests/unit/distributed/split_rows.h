/* SPDX-License-Identifier: Apache-2.0 */
/* split_rows.h -- for the tests of src/distributed: rows of documents as Arrow arrays, and blocks
 * as bytes. */
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/bandmill.h>

#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

enum { ROWS_MAX = 1200, ROW_BYTES = 400 };

/* A table of two columns of text, id and text. */
typedef struct row_table {
    char ids[ROWS_MAX * 16], texts[ROWS_MAX * ROW_BYTES];
    int32_t id_offsets[ROWS_MAX + 1], text_offsets[ROWS_MAX + 1];
    size_t n;
    const void *buffers[2][3], *none[1];
    struct ArrowSchema column_schemas[2], *schema_pointers[2], schema;
    struct ArrowArray columns[2], *pointers[2], array;
} row_table;

static inline void row_table_add(row_table *t, const char *id, const char *text)
{
    const size_t at = (size_t)t->id_offsets[t->n], text_at = (size_t)t->text_offsets[t->n];
    cr_assert_lt(t->n, ROWS_MAX);
    cr_assert(strlen(id) < 16 && strlen(text) < ROW_BYTES);
    memcpy(t->ids + at, id, strlen(id));
    memcpy(t->texts + text_at, text, strlen(text));
    t->n++;
    t->id_offsets[t->n] = (int32_t)(at + strlen(id));
    t->text_offsets[t->n] = (int32_t)(text_at + strlen(text));
}

/* Sets the Arrow structs of the table to n rows, starting at row `first`. */
static inline void row_table_slice(row_table *t, size_t first, size_t n)
{
    static const char *names[] = {"id", "text"};
    for (size_t i = 0; i < 2; i++) {
        t->buffers[i][0] = NULL;
        t->buffers[i][1] = i == 0 ? t->id_offsets : t->text_offsets;
        t->buffers[i][2] = i == 0 ? t->ids : t->texts;
        t->column_schemas[i] = (struct ArrowSchema){.format = "u", .name = names[i]};
        t->schema_pointers[i] = &t->column_schemas[i];
        t->columns[i] = (struct ArrowArray){.length = (int64_t)n,
                                            .offset = (int64_t)first,
                                            .n_buffers = 3,
                                            .buffers = t->buffers[i]};
        t->pointers[i] = &t->columns[i];
    }
    t->schema = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = 2, .children = t->schema_pointers};
    t->array = (struct ArrowArray){.length = (int64_t)n,
                                   .n_buffers = 1,
                                   .buffers = t->none,
                                   .n_children = 2,
                                   .children = t->pointers};
}

/* The Arrow rows that a call returned. */
typedef struct made_rows {
    struct ArrowSchema schema;
    struct ArrowArray array;
} made_rows;

static inline void made_rows_release(made_rows *rows)
{
    rows->schema.release(&rows->schema);
    rows->array.release(&rows->array);
}

static inline const struct ArrowArray *column_of(const made_rows *rows, const char *name,
                                                 const char *format)
{
    for (int64_t i = 0; i < rows->schema.n_children; i++)
        if (strcmp(rows->schema.children[i]->name, name) == 0) {
            cr_assert_str_eq(rows->schema.children[i]->format, format);
            return rows->array.children[i];
        }
    cr_assert(false, "no column %s", name);
    abort();
}

static inline bm_str block_of(const made_rows *rows, size_t i)
{
    const struct ArrowArray *column = column_of(rows, "block", "Z");
    const int64_t *offsets = column->buffers[1];
    return (bm_str){(const char *)column->buffers[2] + offsets[i],
                    (size_t)(offsets[i + 1] - offsets[i])};
}

static inline int32_t part_of_block(const made_rows *rows, size_t i)
{
    return ((const int32_t *)column_of(rows, "part", "i")->buffers[1])[i];
}

/* Fills the table with n texts of words. Every third is an edited copy of an earlier one; some are
 * empty. */
static inline void make_documents(row_table *t, size_t n, uint64_t seed)
{
    uint64_t state = seed;
    static char words[ROWS_MAX][40][4];
    static size_t sizes[ROWS_MAX];
    *t = (row_table){0};
    for (size_t i = 0; i < n; i++) {
        char id[16], text[ROW_BYTES] = "";
        if (i % 3 == 2) {
            const size_t of = world_random(&state) % i;
            sizes[i] = sizes[of];
            memcpy(words[i], words[of], sizeof words[i]);
            if (sizes[i] > 0)
                snprintf(words[i][world_random(&state) % sizes[i]], 4, "x%u", (unsigned)(i % 10));
        } else {
            sizes[i] = i % 50 == 7 ? 0 : 8 + world_random(&state) % 30;
            for (size_t w = 0; w < sizes[i]; w++)
                snprintf(words[i][w], 4, "w%u", (unsigned)(world_random(&state) % 90));
        }
        for (size_t w = 0; w < sizes[i]; w++) {
            strcat(text, w > 0 ? " " : "");
            strcat(text, words[i][w]);
        }
        snprintf(id, sizeof id, "doc-%zu", i);
        row_table_add(t, id, text);
    }
}

enum { BANDS = 6, BAND_ROWS = 3, PERMS = 18 };

static inline bm_splitter_options splitter_options(uint32_t parts)
{
    bm_splitter_options o;
    bm_splitter_options_init(&o);
    o.text.shingle_k = 2;
    o.sketch.perms = PERMS;
    o.bands = BANDS, o.rows = BAND_ROWS;
    o.parts = parts;
    o.resources.threads = 1;
    return o;
}

static inline bm_splitter *open_splitter(const bm_splitter_options *o)
{
    return world_open(bm_splitter, o);
}

static inline made_rows take(bm_splitter *splitter)
{
    made_rows rows;
    cr_assert_eq(bm_splitter_take(splitter, &rows.schema, &rows.array, NULL), BM_OK);
    cr_assert_eq(bm_splitter_waiting(splitter), 0);
    return rows;
}

/* Splits the rows of a table into blocks. */
static inline made_rows split(row_table *t, uint32_t parts)
{
    const bm_splitter_options o = splitter_options(parts);
    bm_splitter *splitter = open_splitter(&o);
    row_table_slice(t, 0, t->n);
    cr_assert_eq(bm_splitter_add(splitter, &t->schema, &t->array, NULL), BM_OK);
    made_rows rows = take(splitter);
    bm_splitter_close(splitter);
    return rows;
}
