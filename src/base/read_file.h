/* read_file.h -- a small file as a whole. */
#ifndef BM_BASE_READ_FILE_H
#define BM_BASE_READ_FILE_H

#include <bandmill/status.h>

#include "base/memory.h"

/* Append all of a file, or of a pipe that the process was given (bm_open_given), to `out`.
 * BM_ERR_INPUT: it is no file, or has more than `most` bytes. BM_ERR_IO, as bm_open_given. */
bm_status bm_read_file(const char *path, size_t most, bm_buf *out, bm_error *err);

#endif
