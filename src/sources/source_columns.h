/* SPDX-License-Identifier: Apache-2.0 */
/* source_columns.h -- reads rows of tables from streams of Arrow arrays (bandmill/arrow.h). One
 * column is the text, and another is the id.
 *
 * bandmill/arrow.h defines documents, texts and ids. The limit on the size of a document applies to
 * its text.
 *
 * A *provider* opens a file as a stream, so that this module need not know where the stream comes
 * from. bm_table_files is the provider for Parquet and Arrow IPC files. Other providers may be
 * supplied. The parts of a file may be read in any order. So the digest of a file is computed, and
 * its bytes count as read, only when its stream has ended.
 *
 * Limits: all arrays of a stream have the same columns.
 *
 * Threads: only the thread that reads calls the stream. If a file can be cut, its ranges are read
 * by the threads that got batches of them (table_ranges.h). An array is released by the last thread
 * that uses it, at the latest when the source is closed. */
#pragma once

#include <bandmill/arrow.h>
#include <bandmill/job.h>

#include "input/batch_source.h"
#include "input/input_set.h"
#include "input/record_rules.h"
#include "input/table_module.h"
#include "sources/arrow_column.h"

/* row_digest -- makes a digest of a table's texts in order, and a hash of each id, so that the rows
 * can be recognized later.
 *
 * Texts and ids are the cells that a source of columns reads, as bytes; a null text is empty. The
 * result does not depend on the division of the table into arrays, nor on the Arrow types of its
 * columns. */

typedef struct bm_row_digest bm_row_digest;

/* The result of a row digest. Valid until close. Complete only if `whole` is set. */
typedef struct bm_row_facts {
    uint64_t n_rows;
    uint64_t digest[2];    /* digest of the texts, in order */
    const uint64_t *ids;   /* n_rows hashes; 0: null. NULL: there is no id column */
    const uint64_t *texts; /* n_rows hashes; NULL: not requested */
    bool whole;            /* the table was read to its end without a failure */
} bm_row_facts;

/* Open a digest of `stream`, which is moved on success. `input` is borrowed until close, and names
 * the columns of the text and the id (there may be no id column). If `each` is set, the hash of
 * each text is kept too. */
bm_status bm_row_digest_open(const bm_input_options *input, struct ArrowArrayStream *stream,
                             bool each, bm_row_digest **out, bm_error *err);
/* Set *out to a stream of the same arrays. Each array is digested when the reader gets it. The
 * reader releases *out, before or after bm_row_digest_close. */
void bm_row_digest_pass(bm_row_digest *rows, struct ArrowArrayStream *out);
/* Read and digest the whole stream. BM_ERR_INPUT: a column is missing, the type of a column is not
 * read, or the stream fails. */
bm_status bm_row_digest_read(bm_row_digest *rows, const char *name, bm_error *err);
bm_row_facts bm_row_digest_facts(const bm_row_digest *rows);
void bm_row_digest_close(bm_row_digest *rows); /* NULL is fine */

/* table_file -- opens a table file among the inputs. */

/* A table file that is to be opened. */
typedef struct bm_table_asked {
    const bm_source *file;
    bm_format format;
    /* the rules name the columns to read; NULL: rows without columns */
    const bm_record_rules *rules;
    size_t batch_bytes; /* size of the batches that will be made */
    bm_input_resources resources;
    size_t range_bytes; /* range_bytes and cut: as in bm_table_wish */
    bm_table_cut *cut;
} bm_table_asked;

typedef struct bm_arrow_column_provider {
    void *ctx;
    const char *name; /* name, for messages, of the format that the provider reads: "Parquet" */
    /* Open the file as the stream *out, which the caller releases. */
    bm_status (*open)(void *ctx, const bm_table_asked *asked, struct ArrowArrayStream *out,
                      bm_error *err);
} bm_arrow_column_provider;

/* Opens Parquet and Arrow IPC files with the table module (input/tables.h). */
extern const bm_arrow_column_provider bm_table_files;

typedef struct bm_table_file {
    const bm_arrow_column_provider *provider;
    bm_input_set *inputs;
    size_t index; /* index of the file in `inputs` */
    const bm_record_rules *rules;
    size_t batch_bytes, range_bytes;
    bm_table_cut *cut; /* rules … cut: as in bm_table_asked */
} bm_table_file;

extern const bm_batch_source_ops bm_source_columns;
