/* SPDX-License-Identifier: Apache-2.0 */
/* source_columns.h -- rows of tables, as streams of Arrow arrays (bandmill/arrow.h): a column is
 * the text, another the id.
 *
 * bandmill/arrow.h defines documents, texts and ids. the longest that a document may be bounds the
 * text.
 *
 * Where the stream comes from is not known here. A *provider* opens a file as a stream: whoever can
 * read Parquet or another table brings one; files of tables have theirs (input). Files are read in
 * whatever order, so that the digest of one is made, and its size counts as read, once its stream
 * has ended.
 *
 * Limits: the same columns in each array of a stream.
 *
 * Threads: the stream is called by the one thread that reads; ranges of a file that can be cut are
 * read by whoever got a batch of them (table_ranges.h). An array is released by whichever
 * thread is the last to have used it, at the latest when the source is closed. */
#pragma once

#include <bandmill/arrow.h>
#include <bandmill/job.h>

#include "input/batch_source.h"
#include "input/input_set.h"
#include "input/record_rules.h"
#include "input/table_module.h"
#include "sources/arrow_column.h"

/* row_digest -- what the rows of a table are, so that they are known again: a digest of their texts
 * in order, and a hash of each id.
 *
 * Texts and ids are the cells that a source of columns reads (source_columns.h), as bytes; a null
 * text is empty. How a table is cut into arrays, and which of Arrow's types its columns have,
 * changes nothing. */

typedef struct bm_row_digest bm_row_digest;

/* Valid until close; all of it known once `whole`. */
typedef struct bm_row_facts {
    uint64_t n_rows;
    uint64_t digest[2];    /* of the texts, in their order */
    const uint64_t *ids;   /* n_rows; 0: null. NULL: there is no such column */
    const uint64_t *texts; /* n_rows; NULL: were not asked for */
    bool whole;            /* the table came to its end, and was understood */
} bm_row_facts;

/* `stream` is moved. `input` names the columns of text and id, is borrowed until close, and may
 * name an id column that is not there. `each`: the hash of each text is wanted too. */
bm_status bm_row_digest_open(const bm_input_options *input, struct ArrowArrayStream *stream,
                             bool each, bm_row_digest **out, bm_error *err);
/* The same stream again: its arrays are looked at on their way to who reads it. It is released by
 * its reader, before or after close. */
void bm_row_digest_pass(bm_row_digest *rows, struct ArrowArrayStream *out);
/* Read it here. BM_ERR_INPUT: a column that is missing, or of a type that is not read; what the
 * stream fails with. */
bm_status bm_row_digest_read(bm_row_digest *rows, const char *name, bm_error *err);
bm_row_facts bm_row_digest_facts(const bm_row_digest *rows);
void bm_row_digest_close(bm_row_digest *rows); /* NULL is fine */

/* table_file -- opening a file of tables among the inputs. */

/* A file of tables that is to be opened. */
typedef struct bm_table_asked {
    const bm_source *file;
    bm_format format;
    const bm_record_rules *rules; /* that will be read; NULL: rows alone */
    size_t batch_bytes;           /* of batches that will be made of it */
    bm_input_resources resources;
    size_t range_bytes; /* these two as in bm_table_wish */
    bm_table_cut *cut;
} bm_table_asked;

typedef struct bm_arrow_column_provider {
    void *ctx;
    const char *name; /* of the format that it reads, for messages: "Parquet" */
    /* *out is filled; its `release` is called once it has ended or is not wanted any more. */
    bm_status (*open)(void *ctx, const bm_table_asked *asked, struct ArrowArrayStream *out,
                      bm_error *err);
} bm_arrow_column_provider;

/* Opens files of Parquet and Arrow's IPC format by what reads them here (input). */
extern const bm_arrow_column_provider bm_table_files;

typedef struct bm_table_file {
    const bm_arrow_column_provider *provider;
    bm_input_set *inputs;
    size_t index; /* of the file in them */
    const bm_record_rules *rules;
    size_t batch_bytes, range_bytes;
    bm_table_cut *cut; /* these four as in bm_table_asked */
} bm_table_file;

extern const bm_batch_source_ops bm_source_columns;

/* The files of `inputs`, whatever their format, through the provider; both are borrowed. */
bm_status bm_source_columns_open_files(bm_input_set *inputs,
                                       const bm_arrow_column_provider *provider,
                                       bm_batch_source **out, bm_error *err);
/* A stream in memory, which is read once. It is taken: moved on BM_OK, released on any error.
 * `name` is in ids and messages; it and what options points to are borrowed. */
bm_status bm_source_columns_open_stream(struct ArrowArrayStream *stream, const char *name,
                                        const bm_input_options *options, bm_batch_source **out,
                                        bm_error *err);
