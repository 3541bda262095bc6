/* SPDX-License-Identifier: Apache-2.0 */
/* table_module.h -- the interface to the module that reads and writes Parquet and Arrow IPC files:
 * a separate shared library, bandmill_parquet (src/parquet). The library is opened when the first
 * such file occurs, so the program needs Arrow's libraries only if there are tables.
 *
 * That library (in C++) includes this header too, and nothing else is shared. If anything here
 * changes, BM_TABLE_MODULE_ABI has to change. */
#pragma once

#include <bandmill/arrow.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define BM_TABLE_MODULE_ABI 9u

/* Rows of a table that one thread can read while other threads read other ranges. */
typedef struct bm_table_range {
    /* row: the first row, counted from 0 in the table; n_rows: number of rows (0: none is left) */
    uint64_t row, n_rows;
    uint64_t bytes; /* approximate size of the rows' texts */
    void *own;      /* NULL: these rows can be read only from the stream, in order */
} bm_table_range;

/* Divides the table of a stream into ranges, which together have all of its rows. */
typedef struct bm_table_cut {
    void *own; /* NULL: the table is not cut */
    /* Get the range that begins at `row`, which is 0 or the end of an earlier range. One thread at
     * a time. */
    bm_table_range (*next)(void *own, uint64_t row);
    /* Read the rows of a range as one array with the stream's schema. Fails with the statuses of
     * the stream (BM_ERR_INPUT, BM_ERR_IO, BM_ERR_NOMEM), but without a message. To get the
     * message, read these rows from the stream. Any thread. */
    bm_status (*read)(void *own, const bm_table_range *range, struct ArrowArray *out);
    void (*drop)(bm_table_range *range); /* frees range->own */
    /* Make the stream continue with `row`, and end at `end`: the end of a range, or UINT64_MAX for
     * the end of the table. Called by the thread that reads the stream. */
    void (*seek)(void *own, uint64_t row, uint64_t end);
    void (*release)(void *own); /* call when no range is left */
} bm_table_cut;                 /* {0}: the table is not cut */

/* The bytes of a file that is not at a local path; `file` NULL: the file is at the path. `read`
 * reads `len` bytes at offset `at`, or fewer at the end of the file. Any thread. */
typedef struct bm_table_bytes {
    void *file; /* borrowed while the table is read */
    uint64_t size;
    bm_status (*read)(void *file, void *out, size_t len, uint64_t at, size_t *got, bm_error *err);
} bm_table_bytes;

/* A table file, and the parts of it to read. */
typedef struct bm_table_wish {
    const char *path;
    bm_table_bytes bytes;
    bool parquet; /* false: Arrow IPC, a file or a stream */
    /* The names of the columns to read. In a name, dots lead into structs, and [] into lists.
     * Columns that do not exist are ignored. n_columns 0: rows without columns. */
    const char *const *columns;
    size_t n_columns;
    /* The first n_needed columns have to exist. If one does not, the stream has all columns of the
     * table. */
    size_t n_needed;
    /* Threads that may decode; 0: all. (Arrow C++ decodes in the calling thread.) */
    uint32_t threads;
    size_t batch_bytes; /* approximate size of arrays; 0: the library decides */
    uint64_t memory;    /* the most bytes of decoded rows at any time; 0: no limit */
    /* range_bytes: the most bytes of a range. cut: filled in if the table can be divided into
     * ranges; NULL: ranges are not wanted. */
    size_t range_bytes;
    bm_table_cut *cut;
    /* Parquet: rows to read, which are whole row groups as passed to `group`; n_rows 0: all. */
    uint64_t first_row, n_rows;
    /* Not NULL: called with the number of rows of each Parquet row group, in order; false stops. */
    bool (*group)(void *ctx, uint64_t rows);
    void *group_ctx;
} bm_table_wish;

#define BM_TABLE_JACCARD_UNKNOWN UINT32_MAX

/* The group of a row, if the group is to be written with the row. */
typedef struct bm_table_label {
    uint64_t group;      /* 0: none */
    uint64_t size;       /* documents in the group; 0: no group */
    uint32_t millionths; /* similarity to the kept document, or BM_TABLE_JACCARD_UNKNOWN */
    uint32_t kept;       /* 0 or 1 */
} bm_table_label;

/* Bytes of a row's text to leave out, half open. */
typedef struct bm_table_text_cut {
    uint64_t row, from, to;
} bm_table_text_cut;

/* Which rows of a table to write to a new file. */
typedef struct bm_table_kept {
    const char *path;
    bm_table_bytes bytes;
    bool parquet;
    const uint8_t *rows; /* a bit per row, lowest first: 1 keeps it */
    uint64_t n_rows;     /* number of bits; rows after them are not kept */
    /* NULL, or one per kept row, written as an additional column `bandmill`: a struct of group,
     * size (int64, null: none), kept (bool), jaccard (double, null: unknown). BM_ERR_INPUT: the
     * file already has a column of this name. */
    const bm_table_label *labels;
    uint64_t n_labels;
    /* NULL, or the bytes to leave out of the strings of column `text` (a name as in bm_table_wish).
     * The text of a row is all of its strings, with a newline between two. A null counts as an
     * empty string, but a list that is null has no strings. Cuts are in the order of the rows, and
     * ascend within a row. No cut spans two strings. BM_ERR_INPUT: strings of this column cannot be
     * cut, such as strings of lists in lists, or of a dictionary in an IPC file. */
    const bm_table_text_cut *cuts;
    uint64_t n_cuts;
    const char *text;
    /* Number of threads; 1: reading and writing do not overlap. The written file does not depend on
     * it. */
    uint32_t threads;
    uint64_t memory;   /* as in bm_table_wish */
    bm_write_fn write; /* receives the new file, from front to back */
    void *write_ctx;
    /* NULL, or another table of the same schema, whose rows follow in the same file. Of the other
     * table, only path, rows, n_rows, bytes, cuts, n_cuts and `more` are used. If there are labels,
     * it must be NULL. */
    const struct bm_table_kept *more;
} bm_table_kept;

/* The metadata key under which tables that we write store their provenance: the first members of a
 * report. */
#define BM_TABLE_PROVENANCE "bandmill"

/* A new file to write. */
typedef struct bm_table_made {
    bool parquet;                    /* false: an Arrow IPC file */
    struct ArrowArrayStream *stream; /* the rows of the file; released by the call */
    uint64_t group_rows;             /* the most rows of a Parquet row group */
    bm_write_fn write;
    void *write_ctx;
} bm_table_made;

/* The message of an error, NUL-terminated. */
typedef struct bm_table_words {
    char text[512];
    /* index of the table that has the error, if rows of several tables go into one file */
    size_t table;
    bool other_schema; /* its schema differs from the first table's */
} bm_table_words;

typedef struct bm_table_module {
    uint32_t abi;
    const char *version; /* "Arrow 26.0.1" */
    /* Open a table file as a stream. Returns BM_OK, BM_ERR_INPUT (the file is broken, encrypted or
     * missing), BM_ERR_IO, BM_ERR_NOMEM (no memory left, or more than `memory` needed). Arrays of
     * the stream may outlive it. */
    bm_status (*open)(const bm_table_wish *wish, struct ArrowArrayStream *out,
                      bm_table_words *words);
    /* Write the kept rows, with the schema, the metadata and the compression of the table that they
     * come from. Parquet: each row group with kept rows becomes one row group. Arrow IPC, whether a
     * file or a stream, becomes an IPC file. Fails like `open`, and with BM_ERR_PIPE: `write`
     * failed; BM_ERR_INPUT: schemas differ. */
    bm_status (*keep)(const bm_table_kept *kept, bm_table_words *words);
    /* Write a new file. BM_ERR_IO: the stream failed; BM_ERR_PIPE: `write` failed. */
    bm_status (*write)(const bm_table_made *made, bm_table_words *words);
} bm_table_module;

/* The only function that the library exports to us. */
BM_API const bm_table_module *bm_table_module_get(void);

#if defined(__cplusplus)
}
#endif
