/* SPDX-License-Identifier: Apache-2.0 */
/* line_file.h -- reads the lines of a file, one after another. Lines have a maximum length.
 *
 * A line ends at an LF, which is not part of the line. A CR before the LF is part of the line. NUL
 * is an ordinary byte. Only one block is in memory, or the longest line so far. One thread. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "output/manifest.h"
#include "results/result_tables.h"

typedef struct bm_line_file {
    /* filled by the caller */
    int fd;             /* borrowed; read from its current offset on; may be a pipe */
    const char *name;   /* for messages; borrowed */
    size_t longest;     /* maximum length of a line, in bytes */
    bm_status too_long; /* the status for a longer line */
    /* Borrowed. Cancellation is checked before each block is read, and while waiting for input.
     * NULL: it is never checked. */
    const bm_callbacks *callbacks;
    /* the current line, valid until the next call; the caller may change its bytes */
    char *text; /* without a NUL at its end */
    size_t len;
    bool ended; /* the line ends with a newline; false: it is the last line and has no newline */
    uint64_t number;  /* number of the current line, from 1 */
    uint64_t n_bytes; /* bytes read so far */
    /* private to line_file.c */
    bm_buf block;
    bm_listed *listed;
    size_t next; /* offset of the next line in the block */
    bool whole;  /* the block extends to the end of the file */
} bm_line_file;  /* bm_line_file_reset frees the block */

/* Read the next line. If there is no further line, *more is false and file->number is one more than
 * the number of the last line. BM_ERR_IO, BM_ERR_NOMEM, BM_ERR_CANCELLED. If the line is too long,
 * file->too_long, with the number of the line. */
bm_status bm_line_file_next(bm_line_file *file, bool *more, bm_error *err);
void bm_line_file_reset(bm_line_file *file);
/* Compare the file with its listed digest while it is read. If the file differs, bm_line_file_next
 * returns BM_ERR_FORMAT at the end of the file. Call this before the second line is read. `listed`
 * is borrowed until the end of the file. NULL: the file is not compared. */
bm_status bm_line_file_compare(bm_line_file *file, bm_listed *listed, bm_error *err);

/* tsv_table -- reads the TSV files that bandmill wrote, row by row: a header row, then rows of
 * escaped fields. Only one block is in memory, or the longest row so far.
 *
 * Columns are found by their names, so files of older versions, which have fewer columns, are read
 * as well. */

#define BM_TSV_FIELDS_MAX 16u

typedef struct bm_tsv_table {
    const char *path;
    char *own_path;    /* the path, if the table owns it; else NULL */
    bm_listed *listed; /* the expected digest; NULL: it is not listed */
    bm_line_file lines;
    uint64_t line;    /* line number of the current row */
    size_t n_columns; /* number of columns in the file; 0: the table is not open */
    /* for each column of the file: its index in the head (bm_table_head) */
    size_t columns[BM_TSV_FIELDS_MAX];
    /* The fields of the current row, unescaped, in the order of the head. Valid until the next row.
     * data NULL: the file has no such column. */
    bm_str fields[BM_TSV_FIELDS_MAX];
} bm_tsv_table; /* {0} is not open, and may be closed */

/* Open the table in the folder of a manifest, which is borrowed until close. If the file differs
 * from the file that the manifest lists, bm_tsv_table_next returns BM_ERR_FORMAT after the last
 * row. */
bm_status bm_tsv_table_open_listed(const bm_manifest *manifest, bm_table which, bm_tsv_table *out,
                                   bm_error *err);
void bm_tsv_table_close(bm_tsv_table *table);
/* Read the next row into table->fields. *end is true if there is no further row. */
bm_status bm_tsv_table_next(bm_tsv_table *table, bool *end, bm_error *err);
/* Read a field as a number. BM_ERR_FORMAT: the field is not a number; the message names the file
 * and the line. */
bm_status bm_tsv_table_uint(const bm_tsv_table *table, size_t field, uint64_t *out, bm_error *err);
