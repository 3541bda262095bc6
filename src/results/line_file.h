/* SPDX-License-Identifier: Apache-2.0 */
/* line_file.h -- the lines of a file, one after another, none longer than a bound.
 *
 * Lines end in LF, which is not part of them; a CR before it is, and so is NUL, like other bytes.
 * One block, or the longest line so far, is in memory, not the file. One thread. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "output/manifest.h"
#include "results/result_tables.h"

typedef struct bm_line_file {
    /* filled by the caller */
    int fd;             /* borrowed; read from where it is, a pipe too */
    const char *name;   /* for messages; borrowed */
    size_t longest;     /* bytes of a line */
    bm_status too_long; /* what a longer one is */
    /* borrowed; asked whether to stop, before each block and while there is nothing to read; NULL:
     * nobody is */
    const bm_callbacks *callbacks;
    /* the line read last, until the next; its bytes may be changed in place */
    char *text; /* not ended by NUL */
    size_t len;
    bool ended;       /* false: the file ends without a newline */
    uint64_t number;  /* from 1 */
    uint64_t n_bytes; /* read so far */
    bm_buf block;     /* the rest is for line_file.c */
    bm_listed *listed;
    size_t next; /* place of the next line in it */
    bool whole;  /* all of the file is in it */
} bm_line_file;  /* reset frees the rows that it has read */

/* *more false: there was no line left, and `number` is the number after the last line's. BM_ERR_IO,
 * BM_ERR_NOMEM, BM_ERR_CANCELLED, `too_long` with the line. */
bm_status bm_line_file_next(bm_line_file *file, bool *more, bm_error *err);
void bm_line_file_reset(bm_line_file *file);
/* The file is listed by a manifest: said before the second line is asked for. The end of the file
 * is BM_ERR_FORMAT where it is another than that. `listed` is borrowed until then; NULL: nothing.
 */
bm_status bm_line_file_compare(bm_line_file *file, bm_listed *listed, bm_error *err);

/* tsv_table -- reading the TSV files that we wrote: a header row, then rows of escaped fields, one
 * after another. One block, or the longest row, is in memory, not the file.
 *
 * Columns are found by their names, so that files of older versions, which have fewer of them,
 * are read as well. */

#define BM_TSV_FIELDS_MAX 16u

typedef struct bm_tsv_table {
    const char *path;
    char *own_path;    /* NULL: the caller's */
    bm_listed *listed; /* its listed digest; NULL: nobody has listed it */
    bm_line_file lines;
    uint64_t line;                     /* of the row read last */
    size_t n_columns;                  /* of the file; 0: not open */
    size_t columns[BM_TSV_FIELDS_MAX]; /* of each column of the file: its place in the head */
    /* The fields of the last row read, unescaped, valid until the next one, by their places in the
     * head; data NULL: the file has no such column. */
    bm_str fields[BM_TSV_FIELDS_MAX];
} bm_tsv_table; /* {0} is not open, and can be closed */

/* The header must name columns of `head`, each once and all old ones: else BM_ERR_FORMAT. Borrows
 * path. A row longer than BM_TABLE_ROW_MAX is not ours. */
bm_status bm_tsv_table_open(const char *path, bm_table_head head, bm_tsv_table *out, bm_error *err);
/* The table beside its manifest, which is borrowed until close: once all rows are read, it is
 * BM_ERR_FORMAT where the file is not the one that the manifest lists. */
bm_status bm_tsv_table_open_listed(const bm_manifest *manifest, bm_table which, bm_tsv_table *out,
                                   bm_error *err);
void bm_tsv_table_close(bm_tsv_table *table);
/* The next row into `fields`; *end: there is none. */
bm_status bm_tsv_table_next(bm_tsv_table *table, bool *end, bm_error *err);
/* A field as a number: BM_ERR_FORMAT names file and line. */
bm_status bm_tsv_table_uint(const bm_tsv_table *table, size_t field, uint64_t *out, bm_error *err);
