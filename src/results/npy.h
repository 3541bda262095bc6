/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h -- NumPy's .npy files of one or two dimensions, in C order and little-endian. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/out_dir.h"
#include "model/stream_hash.h"

#define BM_NPY_HEADER_BYTES 128u /* of every file that we write */

typedef struct bm_npy_header {
    char type[4];    /* "<u4", "<u8", "<i8", "|u1" */
    uint32_t n_dims; /* 1 or 2 */
    uint64_t shape[2];
    uint64_t data_offset; /* of the first element in the file */
} bm_npy_header;

/* Fills `out` with the header of an array; n_cols 0: of one dimension. */
void bm_npy_header_write(const char *type, uint64_t n_rows, uint64_t n_cols,
                         char out[BM_NPY_HEADER_BYTES]);
/* Read and check a header: magic, version 1.0 to 3.0, keys, C order, and the length of the file by
 * its shape. BM_ERR_INPUT names the field that is wrong. */
bm_status bm_npy_header_read(int fd, const char *path, bm_npy_header *out, bm_error *err);

/* An array is written row by row while nobody knows how many there will be: open writes a header,
 * close rewrites it. */
typedef struct bm_npy_array {
    const char *name; /* of the file, in its directory */
    const char *type; /* as in bm_npy_header */
    uint64_t n_cols;  /* 0: one dimension */
} bm_npy_array;

typedef struct bm_npy_writer {
    bm_out_file *file; /* NULL: none is open */
    char type[4];
    uint64_t n_cols;
    bm_stream_hash
        *sum;        /* of the first rows, which end in the file at ...; NULL: nobody wants it */
    uint64_t summed; /* ... this byte */
    bool ended;      /* no more may come */
} bm_npy_writer;

bm_status bm_npy_writer_open(bm_out_dir *dir, const bm_npy_array *array, bm_npy_writer *out,
                             bm_error *err);
/* After a take-over (bm_out_dir_file_again): `n_rows` rows of the array were written and
 * flushed. Bytes after them are cut off, and new rows go there. BM_ERR_FORMAT: there are fewer. */
bm_status bm_npy_writer_open_again(bm_out_dir *dir, const bm_npy_array *array, uint64_t n_rows,
                                   bm_npy_writer *out, bm_error *err);
/* Keep XXH3 128 of the rows from the first on. Those that are there already are
 * read back: where their sum is not *wanted (NULL: it is not known), BM_ERR_FORMAT names the file.
 */
bm_status bm_npy_writer_keep_sum(bm_npy_writer *writer, const bm_hash128 *wanted, bm_error *err);
/* For an array that has all its rows: their sum is compared when the directory is finished and
 * reads the file anyway (BM_ERR_FORMAT then). Rows are BM_ERR_INTERNAL from now on. */
void bm_npy_writer_compare_late(bm_npy_writer *writer, const bm_hash128 *wanted);
/* Give the rows written so far to the system. *sum (NULL: not asked): of all of them, for which
 * those that came since it was asked for last are read back; {0} where none is kept. Without an
 * open file, nothing. */
bm_status bm_npy_writer_flush(bm_npy_writer *writer, bm_hash128 *sum, bm_error *err);
/* `row_bytes` is the width of a row, which must be the array's (BM_ERR_INTERNAL). */
bm_status bm_npy_writer_rows(bm_npy_writer *writer, const void *rows, uint64_t n_rows,
                             size_t row_bytes, bm_error *err);
/* Rows `first` … first+n_rows-1, from any thread, any number of such calls at once; no others
 * meanwhile, and none are missing in the end (bm_out_file_write_at). */
bm_status bm_npy_writer_rows_at(const bm_npy_writer *writer, uint64_t first, const void *rows,
                                uint64_t n_rows, size_t row_bytes, bm_error *err);
/* Without an open file (closed, aborted or {0}), nothing. */
bm_status bm_npy_writer_close(bm_npy_writer *writer, bm_error *err);
