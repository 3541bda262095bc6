/* npy.h -- NumPy's .npy, version 1.0, C order, little-endian, one or two dimensions (interop.md 3).
 */
#ifndef BM_IO_ARRAYS_NPY_H
#define BM_IO_ARRAYS_NPY_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "io/output/out_dir.h"

#define BM_NPY_HEADER_BYTES 128u /* what we write, always */

typedef struct bm_npy_header {
    char type[4];    /* "<u4", "<u8", "<i8" */
    uint32_t n_dims; /* 1 or 2 */
    uint64_t shape[2];
    uint64_t data_offset; /* in the file */
} bm_npy_header;

/* Our header for a shape: BM_NPY_HEADER_BYTES bytes, filled. n_cols 0: one dimension. */
void bm_npy_header_write(const char *type, uint64_t n_rows, uint64_t n_cols,
                         char out[BM_NPY_HEADER_BYTES]);
/* Read and check a header: magic, version 1.0 to 3.0, keys, C order, product and file length.
 * BM_ERR_INPUT for a caller's file, names the field. */
bm_status bm_npy_header_read(int fd, const char *path, bm_npy_header *out, bm_error *err);

/* Write an array row by row while N is not known: open puts a header in, close rewrites it. */
typedef struct bm_npy_writer {
    bm_out_file *file;
    char type[4];
    uint64_t n_rows, n_cols;
} bm_npy_writer;
bm_status bm_npy_writer_open(bm_out_dir *dir, const char *name, const char *type, uint64_t n_cols,
                             bm_npy_writer *out, bm_error *err);
bm_status bm_npy_writer_rows(bm_npy_writer *writer, const void *rows, uint64_t n_rows,
                             size_t row_bytes, bm_error *err);
/* After a take-over (bm_out_dir_file_again): an array of which `n_rows` rows were written and
 * flushed; more rows go on behind, and what was behind is cut off. BM_ERR_FORMAT: not so many are
 * there. */
bm_status bm_npy_writer_open_again(bm_out_dir *dir, const char *name, const char *type,
                                   uint64_t n_cols, uint64_t n_rows, bm_npy_writer *out,
                                   bm_error *err);
/* The rows written so far are with the system. Without an open file: nothing to do. */
bm_status bm_npy_writer_flush(bm_npy_writer *writer, bm_error *err);
/* Without an open file (closed, aborted or {0}): nothing to do. */
bm_status bm_npy_writer_close(bm_npy_writer *writer, bm_error *err);
void bm_npy_writer_abort(bm_npy_writer *writer); /* like bm_out_file_abort */

#endif
