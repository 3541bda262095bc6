/* source_columns.h -- rows of tables, as streams of Arrow arrays (bandmill/arrow.h): a column is the
 * text, another the id.
 *
 * bandmill/arrow.h says what is a document, a text and an id. the longest that a document may be bounds the text.
 *
 * Where the stream comes from is not known here. A *provider* opens a file as a stream: whoever can
 * read Parquet or another table brings one; files of tables have theirs (input). Files are read in
 * whatever order, so that the digest of one is made, and its size counts as read, once its stream has
 * ended.
 *
 * Limits: the same columns in each array of a stream.
 *
 * Threads: the stream is called by the one thread that reads. An array is released by whichever
 * thread is the last to have used it, at the latest when the source is closed. */
#ifndef BM_IO_SOURCES_SOURCE_COLUMNS_H
#define BM_IO_SOURCES_SOURCE_COLUMNS_H

#include <bandmill/arrow.h>

#include "input/batch_source.h"
#include "sources/column.h"
#include "sources/table_file.h"

extern const bm_batch_source_ops bm_source_columns;

/* The files of `inputs`, whatever their format, through the provider; both are borrowed. */
bm_status bm_source_columns_open_files(bm_input_set *inputs, const bm_column_provider *provider,
                                       bm_batch_source **out, bm_error *err);
/* A stream in memory, which is read once. It is taken: moved on BM_OK, released on any error.
 * `name` stands in ids and messages; it and what options points to are borrowed. */
bm_status bm_source_columns_open_stream(struct ArrowArrayStream *stream, const char *name,
                                        const bm_input_options *options, bm_batch_source **out,
                                        bm_error *err);

/* The texts of a batch as they lie in the table, for who needs no record of each: of one column, with
 * ids by their places, whose cells need no check but of their length and of UTF-8. */
typedef struct bm_batch_texts {
    const bm_column *column;
    size_t first, n;    /* rows of the column */
    uint64_t most;      /* bytes of a text */
    uint64_t first_row; /* of the table, from 0 */
} bm_batch_texts;

/* False: rows of this source have more to them, and are parsed. Valid as long as the batch. */
bool bm_source_columns_texts(const bm_batch_source *source, const bm_source_batch *batch,
                             bm_batch_texts *out);

#endif
