/* SPDX-License-Identifier: Apache-2.0 */
/* table_stream.h -- reads a stream of Arrow arrays as chunks of rows, and finds the required
 * columns by their names. */
#pragma once

#include <stdatomic.h>

#include <bandmill/status.h>

#include "base/memory.h"
#include "input/record_rules.h"
#include "sources/arrow_column.h"

/* The location of a required column in a stream. */
typedef struct bm_arrow_column_ref {
    bm_arrow_column_path path; /* path.found false: the stream has no such column */
    bm_arrow_column_type type;
    bm_value_form form; /* for the id, and for fields of `keep` */
} bm_arrow_column_ref;

/* The result of a search for a column in a schema. */
typedef struct bm_arrow_column_found {
    bm_arrow_column_ref ref;
    const struct ArrowSchema *schema; /* schema of the column; NULL: there is no such column */
} bm_arrow_column_found;

typedef struct bm_table_stream {
    const bm_record_rules *rules; /* borrowed; NULL: rows without columns */
    const char *name;             /* for messages; borrowed */
    struct ArrowArrayStream stream;
    bm_arrow_column_ref *refs; /* bm_columns_count: the id, the text fields, the fields of `keep` */
    bm_name_list names;        /* the names of all columns, if a field of `keep` is missing */
} bm_table_stream;             /* {0} is closed */

/* One array, with a count of its users; the last user frees it. */
typedef struct bm_table_chunk {
    atomic_size_t users;
    struct ArrowArray array;
    size_t n_rows;
    bool has_id;
    uint32_t number;    /* number of the chunk among all chunks of the source, from 1 */
    bm_name_list names; /* as in bm_table_stream */
    /* in the order of bm_table_stream.refs; columns[0] is used only if has_id */
    bm_arrow_column columns[];
} bm_table_chunk;

/* Find the columns in the schema. The caller has set the members rules, name and stream of
 * `stream`. BM_ERR_INPUT: a column is missing, occurs twice or has a type that is not read.
 * `stream` may be closed whatever the status. */
bm_status bm_table_stream_begin(bm_table_stream *stream, bm_error *err);
/* Get the next array as a chunk with one user; NULL at the end. */
bm_status bm_table_stream_next(bm_table_stream *stream, bm_table_chunk **out, bm_error *err);
/* Make a chunk, with one user, of an array that has the stream's schema but does not come from the
 * stream. `array` is moved, or released on failure. Any thread. */
bm_status bm_table_stream_chunk(const bm_table_stream *stream, struct ArrowArray *array,
                                bm_table_chunk **out, bm_error *err);
/* List the names of the columns of a schema. */
void bm_table_names(const struct ArrowSchema *schema, bm_name_list *out);
void bm_table_stream_close(bm_table_stream *stream);

static inline void bm_table_chunk_use(bm_table_chunk *chunk)
{
    atomic_fetch_add(&chunk->users, 1);
}
void bm_table_chunk_release(bm_table_chunk *chunk); /* NULL is fine */

/* chunk_texts -- gets the text of a table row: the texts of its cells and of the values in its
 * lists, joined by newlines. A null counts as an empty text. So does a list that is null or has no
 * values. */

/* The bytes of a row's n text columns, without the joining newlines. */
size_t bm_chunk_text_bytes(const bm_table_chunk *chunk, size_t n, size_t row);
/* The words of a row's n text columns, as bm_long_words counts them. */
uint64_t bm_chunk_text_words(const bm_table_chunk *chunk, size_t n, size_t row);

/* A request for the text of a row, which has n text columns. */
typedef struct bm_text_request {
    size_t n, row;
    bm_buf *joined; /* receives the joined text, if the text is not one cell */
    /* receives a bm_text_part for each text that is joined; NULL: parts are not wanted */
    bm_buf *parts;
} bm_text_request;

/* Get the text of a row. If the text is one cell, *out is a view of the chunk. Otherwise it is a
 * view of wish->joined. */
bm_status bm_chunk_text(const bm_table_chunk *chunk, const bm_text_request *wish, bm_str *out,
                        bm_error *err);
