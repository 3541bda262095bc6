/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h -- NumPy's .npy files of one or two dimensions, in C order and little-endian. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/out_dir.h"
#include "model/stream_hash.h"

#define BM_NPY_HEADER_BYTES 128u /* size of the header in every file that we write */

typedef struct bm_npy_header {
    char type[4];    /* "<u4", "<u8", "<i8", "|u1" */
    uint32_t n_dims; /* 1 or 2 */
    uint64_t shape[2];
    uint64_t data_offset; /* offset of the first element */
} bm_npy_header;

/* Write the header of an array to `out`; n_cols 0: one-dimensional. */
void bm_npy_header_write(const char *type, uint64_t n_rows, uint64_t n_cols,
                         char out[BM_NPY_HEADER_BYTES]);
/* Read and check a header: magic, version 1.0 to 3.0, keys, C order, and that the file's length
 * fits the shape. BM_ERR_INPUT names the field that is wrong. */
bm_status bm_npy_header_read(int fd, const char *path, bm_npy_header *out, bm_error *err);

/* An array that is written row by row, before the number of rows is known: open writes a header,
 * close rewrites it. */
typedef struct bm_npy_array {
    const char *name; /* name of the file in its directory */
    const char *type; /* see bm_npy_header */
    uint64_t n_cols;  /* 0: one-dimensional */
} bm_npy_array;

typedef struct bm_npy_writer {
    bm_out_file *file; /* NULL: not open */
    char type[4];
    uint64_t n_cols;
    bm_stream_hash *sum; /* XXH3 128 of the rows up to `summed`; NULL: not requested */
    uint64_t summed;     /* end of the rows in `sum`, as an offset in the file */
    bool ended;          /* no more rows are allowed */
} bm_npy_writer;

bm_status bm_npy_writer_open(bm_out_dir *dir, const bm_npy_array *array, bm_npy_writer *out,
                             bm_error *err);
/* After a job was taken over (bm_out_dir_file_again): reopen an array of which `n_rows` rows were
 * written and flushed. Later bytes are cut off, and new rows follow. BM_ERR_FORMAT: there are fewer
 * rows. */
bm_status bm_npy_writer_open_again(bm_out_dir *dir, const bm_npy_array *array, uint64_t n_rows,
                                   bm_npy_writer *out, bm_error *err);
/* Keep XXH3 128 of all rows from now on. Existing rows are read back; BM_ERR_FORMAT names the file
 * if their sum is not *wanted (NULL: do not compare). */
bm_status bm_npy_writer_keep_sum(bm_npy_writer *writer, const bm_hash128 *wanted, bm_error *err);
/* For an array with all its rows: compare their sum when the directory is finished, which reads the
 * file anyway (BM_ERR_FORMAT if it differs). After this call, writing more rows is
 * BM_ERR_INTERNAL. */
void bm_npy_writer_compare_late(bm_npy_writer *writer, const bm_hash128 *wanted);
/* Pass the rows written so far to the system. *sum (NULL: not requested) receives the sum of all of
 * them; rows that are new since the last request are read back. If no sum is kept, *sum is {0}.
 * Does nothing if no file is open. */
bm_status bm_npy_writer_flush(bm_npy_writer *writer, bm_hash128 *sum, bm_error *err);
/* Append rows. `row_bytes`: the size of a row; BM_ERR_INTERNAL unless it is the size of the array's
 * rows. */
bm_status bm_npy_writer_rows(bm_npy_writer *writer, const void *rows, uint64_t n_rows,
                             size_t row_bytes, bm_error *err);
/* Write rows `first` … first+n_rows-1. Several threads may call this at once. No other function may
 * be called meanwhile, and no row may be missing in the end (bm_out_file_write_at). */
bm_status bm_npy_writer_rows_at(const bm_npy_writer *writer, uint64_t first, const void *rows,
                                uint64_t n_rows, size_t row_bytes, bm_error *err);
/* Close the array. Does nothing if no file is open (closed, aborted or {0}). */
bm_status bm_npy_writer_close(bm_npy_writer *writer, bm_error *err);
