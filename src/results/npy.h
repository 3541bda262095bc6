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

/* Read and check a header: magic, version 1.0 to 3.0, keys, C order, and whether the length of the
 * file matches the shape. BM_ERR_INPUT names the error. */
bm_status bm_npy_header_read(int fd, const char *path, bm_npy_header *out, bm_error *err);

/* An array that is written row by row, before the number of rows is known: bm_npy_writer_open
 * writes a header, which bm_npy_writer_close rewrites. */
typedef struct bm_npy_array {
    const char *name; /* name of the file in its directory */
    const char *type; /* see bm_npy_header */
    uint64_t n_cols;  /* 0: one dimension */
} bm_npy_array;

typedef struct bm_npy_writer {
    bm_out_file *file; /* NULL: not open */
    char type[4];
    uint64_t n_cols;
    bm_stream_hash *sum; /* XXH3 128 of the rows before the offset `summed`; NULL: not requested */
    uint64_t summed;     /* offset in the file */
    bool ended;          /* no more rows may be written */
} bm_npy_writer;

bm_status bm_npy_writer_open(bm_out_dir *dir, const bm_npy_array *array, bm_npy_writer *out,
                             bm_error *err);
/* In a directory of an earlier job that was taken over: reopen an array with bm_out_dir_file_again.
 * The first `n_rows` rows, which that job has flushed, are kept; later bytes are cut off. New rows
 * follow. BM_ERR_FORMAT: there are fewer rows. */
bm_status bm_npy_writer_open_again(bm_out_dir *dir, const bm_npy_array *array, uint64_t n_rows,
                                   bm_npy_writer *out, bm_error *err);
/* From now on compute the XXH3 128 of all rows, for bm_npy_writer_flush. Existing rows are read
 * back; if their sum is not *wanted (NULL: not compared), BM_ERR_FORMAT names the file. */
bm_status bm_npy_writer_keep_sum(bm_npy_writer *writer, const bm_hash128 *wanted, bm_error *err);
/* For an array that has all rows: let bm_out_dir_finish, which reads the file anyway, compare their
 * sum with *wanted (BM_ERR_FORMAT if it differs). After this call, writing more rows returns
 * BM_ERR_INTERNAL. */
void bm_npy_writer_compare_late(bm_npy_writer *writer, const bm_hash128 *wanted);
/* Pass the rows written so far to the system. *sum (NULL: not wanted) becomes the sum of all rows,
 * or {0} without bm_npy_writer_keep_sum; rows written since the last call with `sum` are read back.
 * Does nothing else if no file is open. */
bm_status bm_npy_writer_flush(bm_npy_writer *writer, bm_hash128 *sum, bm_error *err);
/* Append rows. `row_bytes`: the size of a row for the caller; BM_ERR_INTERNAL unless the rows of
 * the array have this size. */
bm_status bm_npy_writer_rows(bm_npy_writer *writer, const void *rows, uint64_t n_rows,
                             size_t row_bytes, bm_error *err);
/* Write rows `first` … first+n_rows-1. Several threads may call this at once, but meanwhile no
 * other function. When the array is closed, no row may be missing (bm_out_file_write_at). */
bm_status bm_npy_writer_rows_at(const bm_npy_writer *writer, uint64_t first, const void *rows,
                                uint64_t n_rows, size_t row_bytes, bm_error *err);
/* Close the array. Does nothing if no file is open (after a close, or {0}). */
bm_status bm_npy_writer_close(bm_npy_writer *writer, bm_error *err);
