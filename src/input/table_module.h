/* SPDX-License-Identifier: Apache-2.0 */
/* table_module.h -- what reads and writes Parquet and Arrow's IPC files: a shared library of its
 * own, bandmill_parquet (src/parquet), which is opened when such a file turns up. So the program
 * does without Arrow's libraries where nobody has tables.
 *
 * Also included by that library, in C++: it is their whole agreement. Where that changes, so does
 * BM_TABLE_MODULE_ABI. */
#pragma once

#include <bandmill/arrow.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define BM_TABLE_MODULE_ABI 8u

/* Rows of a table that can be read beside others. */
typedef struct bm_table_range {
    uint64_t row, n_rows; /* of the table, the first 0; n_rows 0: there is none any more */
    uint64_t bytes;       /* of its texts, about */
    void *own;            /* NULL: these rows can be read in order only, by the stream */
} bm_table_range;

/* Ranges of the table that a stream is of: together they are all of its rows. */
typedef struct bm_table_cut {
    void *own; /* NULL: the table is not cut */
    /* The range that begins at row 0, or where an earlier one ended. One thread at a time. */
    bm_table_range (*next)(void *own, uint64_t row);
    /* Read its rows as one array with the schema of the stream. BM_ERR_INPUT, BM_ERR_IO,
     * BM_ERR_NOMEM like the stream, but only the stream has the message. Any thread. */
    bm_status (*read)(void *own, const bm_table_range *range, struct ArrowArray *out);
    void (*drop)(bm_table_range *range); /* its `own` */
    /* Go on with this row, and end the stream where a range ends at `end`, or with the table
     * (UINT64_MAX). The reader of the stream calls it. */
    void (*seek)(void *own, uint64_t row, uint64_t end);
    void (*release)(void *own); /* once no range is left */
} bm_table_cut;                 /* {0} is none */

/* A file that lies elsewhere: `read` gives `len` bytes from `at` on, or as many as there are. Any
 * thread. `file` NULL: it is the one at the path. */
typedef struct bm_table_bytes {
    void *file; /* borrowed, as long as the table is read */
    uint64_t size;
    bm_status (*read)(void *file, void *out, size_t len, uint64_t at, size_t *got, bm_error *err);
} bm_table_bytes;

/* A file of tables, and the parts of it to read. */
typedef struct bm_table_wish {
    const char *path;
    bm_table_bytes bytes;
    bool parquet; /* else IPC, a file or a stream */
    /* Names of columns, dots leading into structs, [] into lists; those that are not there are
     * passed over. Of none: rows alone. */
    const char *const *columns;
    size_t n_columns;
    size_t n_needed;    /* of them, the first: where one is not there, all columns are given */
    uint32_t threads;   /* that may decode; 0: all. (Arrow C++ does it in the one that asks) */
    size_t batch_bytes; /* arrays of about so many; 0: as the library likes */
    uint64_t memory;    /* decoded rows take no more at any time; 0: any */
    /* Bytes of a range at most; and NULL, or the ranges to fill in if the table is cut. */
    size_t range_bytes;
    bm_table_cut *cut;
    /* Of Parquet: rows that are whole row groups, as `group` was told them; n_rows 0: all. */
    uint64_t first_row, n_rows;
    /* NULL, or told the rows of each row group of Parquet, in order; false: nothing more. */
    bool (*group)(void *ctx, uint64_t rows);
    void *group_ctx;
} bm_table_wish;

#define BM_TABLE_JACCARD_UNKNOWN UINT32_MAX

/* The group of a row, where each is to be written with its own. */
typedef struct bm_table_label {
    uint64_t group;      /* 0: none */
    uint64_t size;       /* documents of the group; 0: none */
    uint32_t millionths; /* of similarity to the one that is kept; or unknown */
    uint32_t kept;       /* 0 or 1 */
} bm_table_label;

/* The rows of a table that stay. */
typedef struct bm_table_kept {
    const char *path;
    bm_table_bytes bytes;
    bool parquet;
    const uint8_t *rows; /* a bit a row, lowest first: it stays */
    uint64_t n_rows;     /* of the bits: rows after them do not stay */
    /* NULL, or one for each row that stays: it becomes another column, `bandmill`, a struct of
     * group, size (int64, null: none), kept (bool), jaccard (double, null: not known).
     * BM_ERR_INPUT: the file has a column of this name. */
    const bm_table_label *labels;
    uint64_t n_labels;
    uint32_t threads;  /* 1: no row is read beside writing; the file is the same for any number */
    uint64_t memory;   /* as above */
    bm_write_fn write; /* takes the new file, from front to back */
    void *write_ctx;
    /* NULL, or another table of the same schema; its rows follow in the same file. Of it only path,
     * rows, n_rows, bytes and `more` are used. Not with labels. */
    const struct bm_table_kept *more;
} bm_table_kept;

/* The key of a schema's metadata under which our own tables have their provenance: a report's first
 * members. */
#define BM_TABLE_PROVENANCE "bandmill"

/* A new file. */
typedef struct bm_table_made {
    bool parquet;                    /* else an IPC file */
    struct ArrowArrayStream *stream; /* its rows; released by the call */
    uint64_t group_rows;             /* of a row group of Parquet, at most */
    bm_write_fn write;
    void *write_ctx;
} bm_table_made;

/* Words on what went wrong, ended by NUL. */
typedef struct bm_table_words {
    char text[512];
    size_t table;      /* of the tables that are kept in one file: the one that the error is
                        * about */
    bool other_schema; /* it has another one than the first */
} bm_table_words;

typedef struct bm_table_module {
    uint32_t abi;
    const char *version; /* "Arrow 26.0.1" */
    /* BM_OK, BM_ERR_INPUT (it is broken, encrypted, or no such file), BM_ERR_IO, BM_ERR_NOMEM
     * (there is none, or it would be more than `memory`). Arrays of the stream may outlive it. */
    bm_status (*open)(const bm_table_wish *wish, struct ArrowArrayStream *out,
                      bm_table_words *words);
    /* Write the rows that stay, with the file's own schema, metadata and compression, a row group
     * for each of its own (or none, where none of its rows stays); IPC as an IPC file. Also
     * BM_ERR_PIPE, where `write` said so; BM_ERR_INPUT where schemas differ. */
    bm_status (*keep)(const bm_table_kept *kept, bm_table_words *words);
    /* Write a new file. BM_ERR_IO: the stream failed; BM_ERR_PIPE: `write` did. */
    bm_status (*write)(const bm_table_made *made, bm_table_words *words);
} bm_table_module;

/* The one function that the library has for us. */
BM_API const bm_table_module *bm_table_module_get(void);

#if defined(__cplusplus)
}
#endif
