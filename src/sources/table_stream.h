/* SPDX-License-Identifier: Apache-2.0 */
/* table_stream.h -- a stream of Arrow arrays as chunks of rows, with the columns that are wanted of
 * them found by their names. */
#pragma once

#include <stdatomic.h>

#include <bandmill/status.h>

#include "base/memory.h"
#include "input/record_rules.h"
#include "sources/arrow_column.h"

/* Where a stream has a column that is wanted. */
typedef struct bm_arrow_column_ref {
    bm_arrow_column_path path; /* n 0: it has no such column */
    bm_arrow_column_type type;
    bm_value_form form; /* of a field of `keep` */
} bm_arrow_column_ref;

/* A column of a schema that was looked for. */
typedef struct bm_arrow_column_found {
    bm_arrow_column_ref ref;
    const struct ArrowSchema *schema; /* its own; NULL: there is no such column */
} bm_arrow_column_found;

typedef struct bm_table_stream {
    const bm_record_rules *rules; /* borrowed; NULL: of no column, rows alone */
    const char *name;             /* for messages; borrowed */
    struct ArrowArrayStream stream;
    bm_arrow_column_ref
        *refs;          /* bm_columns_count: the id's, one a text field, one a field of `keep` */
    bm_name_list names; /* of its columns, if it lacks a field of `keep` */
} bm_table_stream;      /* {0} is closed */

/* One array. Whoever uses it counts among its users, and the last one frees it. */
typedef struct bm_table_chunk {
    atomic_size_t users;
    struct ArrowArray array;
    size_t n_rows;
    bool has_id;
    uint32_t number;           /* which one of its source it is, from 1 */
    bm_name_list names;        /* as in bm_table_stream */
    bm_arrow_column columns[]; /* as bm_table_stream.refs; [0] only where has_id */
} bm_table_chunk;

/* `stream` has its rules, name and stream set, and finds its columns in the schema. BM_ERR_INPUT: a
 * column that is missing, is there twice or has a type that is not read. May be closed whatever the
 * status. */
bm_status bm_table_stream_begin(bm_table_stream *stream, bm_error *err);
/* The next array, with one user; NULL at the end. */
bm_status bm_table_stream_next(bm_table_stream *stream, bm_table_chunk **out, bm_error *err);
/* The same of an array of the stream's schema that came from elsewhere, and is taken. Any
 * thread. */
bm_status bm_table_stream_chunk(const bm_table_stream *stream, struct ArrowArray *array,
                                bm_table_chunk **out, bm_error *err);
/* The names of the columns of a schema. */
void bm_table_names(const struct ArrowSchema *schema, bm_name_list *out);
void bm_table_stream_close(bm_table_stream *stream);

static inline void bm_table_chunk_use(bm_table_chunk *chunk)
{
    atomic_fetch_add(&chunk->users, 1);
}
void bm_table_chunk_release(bm_table_chunk *chunk); /* NULL is fine */

/* chunk_texts -- the texts of a row of a table: its cells, and the values of its lists.
 *
 * All of them are joined by newlines. Null is an empty text, and so is a list without values, or
 * that is null. */

/* Bytes of its n texts, without what joins them; words as a long gate counts them. */
size_t bm_chunk_text_bytes(const bm_table_chunk *chunk, size_t n, size_t row);
uint64_t bm_chunk_text_words(const bm_table_chunk *chunk, size_t n, size_t row);

/* The texts that are wanted. */
typedef struct bm_text_request {
    size_t n, row;
    bm_buf *joined; /* where they are put, if there are several, */
    bm_buf *parts;  /* and a bm_text_part each; NULL: not wanted */
} bm_text_request;

/* *out lies in the chunk where one cell is all, else in `joined`. */
bm_status bm_chunk_text(const bm_table_chunk *chunk, const bm_text_request *wish, bm_str *out,
                        bm_error *err);
