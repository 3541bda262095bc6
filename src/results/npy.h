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

/* Read and check a header: the magic, version 1.0 to 3.0, the keys, C order, and that the length of
 * the file matches the shape. BM_ERR_INPUT names the error. */
bm_status bm_npy_header_read(int fd, const char *path, bm_npy_header *out, bm_error *err);

/* An array that is written row by row, before the number of rows is known. bm_npy_writer_open
 * writes a header, and bm_npy_writer_close rewrites it. */
typedef struct bm_npy_array {
    const char *name; /* name of the file in its directory */
    const char *type; /* see bm_npy_header */
    uint64_t n_cols;  /* 0: one dimension */
} bm_npy_array;

typedef struct bm_npy_writer {
    bm_out_file *file; /* NULL: not open */
    char type[4];
    uint64_t n_cols;
    bm_stream_hash *sum; /* XXH3 128 of the rows before file offset `summed`; NULL: not requested */
    uint64_t summed;
    bool ended; /* no more rows may be written */
} bm_npy_writer;

bm_status bm_npy_writer_open(bm_out_dir *dir, const bm_npy_array *array, bm_npy_writer *out,
                             bm_error *err);
/* Reopen an array with bm_out_dir_file_again, in a directory that was taken over from an earlier
 * job. The first `n_rows` rows, which the earlier job has flushed, are kept. Later bytes are cut
 * off, and new rows follow. BM_ERR_FORMAT: there are fewer rows. */
bm_status bm_npy_writer_open_again(bm_out_dir *dir, const bm_npy_array *array, uint64_t n_rows,
                                   bm_npy_writer *out, bm_error *err);
/* From now on, compute the XXH3 128 of all rows, for bm_npy_writer_flush. Rows that exist already
 * are read back. If their sum is not *wanted (NULL: it is not compared), BM_ERR_FORMAT names the
 * file. */
bm_status bm_npy_writer_keep_sum(bm_npy_writer *writer, const bm_hash128 *wanted, bm_error *err);
/* Let bm_out_dir_finish compare the sum of all rows with *wanted, because it reads the file anyway;
 * BM_ERR_FORMAT if they differ. The array must have all its rows: writing more rows now returns
 * BM_ERR_INTERNAL. */
void bm_npy_writer_compare_late(bm_npy_writer *writer, const bm_hash128 *wanted);
/* Pass the rows written so far to the system. Does nothing if no file is open. If `sum` is not
 * NULL, rows written since the last such call are read back, and *sum becomes the sum of all rows;
 * without bm_npy_writer_keep_sum, it becomes {0}. */
bm_status bm_npy_writer_flush(bm_npy_writer *writer, bm_hash128 *sum, bm_error *err);
/* Append rows. `row_bytes` is the size that the caller expects a row to have. BM_ERR_INTERNAL: the
 * rows of the array have another size, or no more rows may be written
 * (bm_npy_writer_compare_late). */
bm_status bm_npy_writer_rows(bm_npy_writer *writer, const void *rows, uint64_t n_rows,
                             size_t row_bytes, bm_error *err);
/* Write the rows from `first` to first+n_rows-1. Several threads may call this at once, but no
 * other function at the same time. When the array is closed, no row may be missing
 * (bm_out_file_write_at). */
bm_status bm_npy_writer_rows_at(const bm_npy_writer *writer, uint64_t first, const void *rows,
                                uint64_t n_rows, size_t row_bytes, bm_error *err);
/* Close the array. Does nothing if no file is open (after a close, or {0}). */
bm_status bm_npy_writer_close(bm_npy_writer *writer, bm_error *err);
