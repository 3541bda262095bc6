/* SPDX-License-Identifier: Apache-2.0 */
/* arrow.h -- the Arrow C data interface and C stream interface, for tables from other programs.
 *
 * A table is passed as a stream of arrays, each a struct of columns. The arrays are not copied, and
 * neither program needs a library of Arrow. Set bm_input_options.stream instead of paths.
 *
 * Example
 *
 *     struct ArrowArrayStream stream = table;
 *     bm_dedup_options options;
 *     bm_dedup_options_init(&options);
 *     options.input.stream = &stream;
 *     options.input.stream_name = "table";
 *     options.output.path = "out";
 *     bm_summary *summary = NULL;
 *     bm_error err = {0};
 *     if (bm_job_dedup(&options, &summary, &err) != BM_OK)
 *         fprintf(stderr, "%s\n", err.message);
 *     bm_summary_free(summary);
 *
 * `table` was filled by pyarrow, DuckDB, polars, nanoarrow or another program. A table without ids
 * gets the ids table:1, table:2 ...
 *
 * A row is a document. `text_fields` and `id_field` name columns. A text column has the type utf8,
 * large_utf8, utf8_view, binary, large_binary, binary_view, or a dictionary of one of these. A null
 * is an empty text. The texts of several columns are joined by one newline. An id column has one of
 * the types of text columns, or an integer type. An integer becomes its decimal digits. If
 * `id_field` was given, a row with a null id is a bad record; otherwise it gets the id NAME:ROW. A
 * table without ids gets row numbers with `row_ids`. Invalid UTF-8 is read as U+FFFD. A name with
 * dots selects a member of a struct column. A name with [] selects the elements of lists
 * ("messages[].content"), which are joined by newlines. A column of any other type is BM_ERR_INPUT;
 * the message names the column and its type.
 *
 * Texts are not copied. An array is released when its rows have been processed; any thread may
 * release it. A stream is read once, so outputs that need a second pass (the kept records) are not
 * written. The ids of the kept documents are written instead (kept_ids.txt).
 *
 * The structs and their guards are copied from the specification
 * (arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html), so a program may
 * include several headers with the same structs. A struct is released if its `release` is NULL. */
#ifndef BANDMILL_ARROW_H
#define BANDMILL_ARROW_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

/* The type of a column or of a table. The type of a table is "+s", a struct with a child for each
 * column. */
struct ArrowSchema {
    const char *format; /* "u" utf8, "U" large_utf8, "z" binary, "l" int64 … */
    const char *name;
    const char *metadata;
    int64_t flags; /* ARROW_FLAG_* */
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *schema);
    void *private_data;
};

/* The values: rows offset … offset + length - 1 of the buffers. */
struct ArrowArray {
    int64_t length;
    int64_t null_count; /* -1: not known */
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers; /* validity bits first (NULL: no nulls), then the type's own */
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

/* Arrays of one schema, one after another. Calls return 0 or an errno code. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out); /* a released array
                                                                                 means the end */
    const char *(*get_last_error)(struct ArrowArrayStream *stream);           /* NULL: no message */
    void (*release)(struct ArrowArrayStream *stream);
    void *private_data;
};

#endif

#if defined(__cplusplus)
}
#endif
#endif
