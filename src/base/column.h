/* SPDX-License-Identifier: Apache-2.0 */
/* column.h -- a growing array with elements that never move, so any thread may read and write
 * existing elements while one thread adds space for more.
 *
 *     address space   [ pages of memory ... | pages of a file ... | free ......... ]
 *                     data                  in_memory             bytes            space
 *
 * When the column first grows, it takes a stretch of address space for itself alone. Whenever it
 * grows, more pages are mapped in this stretch: pages of memory or, if the caller passes a
 * directory, pages of a file without a name. Pages that were never written take no memory. Large
 * columns request huge pages from the system.
 *
 * Pages of a file have no checksums. If the disk fails to read a page, the process ends, as with
 * memory that the system has swapped out. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bandmill/status.h>

typedef struct bm_column {
    void *data; /* NULL: the column has not grown yet */
    /* bytes from `data` on that may be used; a byte is zero until it is written */
    atomic_size_t bytes;
    /* bytes of address space reserved for the column; 0: nothing is reserved beyond `bytes` */
    size_t space;
    size_t in_memory; /* offset at which the pages of the file begin */
    atomic_int file;  /* 1 + the file's descriptor; 0: there is no file */
    const char *dir;  /* the directory of the file; borrowed */
} bm_column;          /* {0} is empty */

/* Grow the column to `bytes` or some more. If `dir` is given now, or was given before, and the
 * directory still exists, the new pages are pages of a file in it. Otherwise they are memory. `dir`
 * is borrowed. One thread at a time.
 *
 * On failure nothing changes. BM_ERR_NOMEM: there is no memory, or another mapping is in the way.
 * BM_ERR_IO: the disk is full, or files of its file system cannot be mapped. */
bm_status bm_column_grow(bm_column *column, size_t bytes, const char *dir, bm_error *err);
/* Free all pages after the first `bytes`. */
void bm_column_trim(bm_column *column, size_t bytes);
/* Move all pages to memory. Only the first `used` bytes of the column are elements. No other thread
 * may use the column meanwhile. On failure nothing changes. */
bm_status bm_column_to_memory(bm_column *column, size_t used, bm_error *err);
void bm_column_reset(bm_column *column);

/* Remove the file's pages from the memory of the process until they are accessed again. The file
 * keeps their contents. Any thread may call this, while others read and write the pages. */
void bm_column_leave(const bm_column *column);
/* Like bm_column_leave, for the pages of bytes from … to-1. */
void bm_column_leave_part(const bm_column *column, size_t from, size_t to);
/* Copy `n` bytes at offset `at`, without accessing mapped pages. For a few scattered bytes this
 * reads less of the file and takes less memory, because accessing a page also loads its neighbours.
 * False: the bytes are in memory, or the file cannot be read in this way. */
bool bm_column_read(const bm_column *column, void *out, size_t n, uint64_t at);

/* Give the empty `column` a size of `bytes` bytes, all of them in a file. For use when memory is
 * short. BM_ERR_IO also if the directory does not exist any more. */
bm_status bm_column_open_file(bm_column *column, size_t bytes, const char *dir, bm_error *err);
/* Copy `n` bytes at offset `at` of a column that was made by bm_column_open_file. BM_ERR_IO: the
 * file cannot be read. */
bm_status bm_column_read_file(const bm_column *column, void *out, size_t n, uint64_t at,
                              bm_error *err);

/* Do the pages from `in_memory` on belong to a file? */
static inline bool bm_column_has_file(const bm_column *column)
{
    return atomic_load_explicit(&column->file, memory_order_relaxed) != 0;
}

/* How many bytes of columns are in memory, and how many in files. */
typedef struct bm_column_sums {
    uint64_t in_memory, in_file;
} bm_column_sums;

void bm_column_sum(const bm_column *column, uint64_t bytes, bm_column_sums *sums);
/* The memory that these columns take if at most `part` bytes of their file pages are in memory. */
static inline uint64_t bm_column_held(const bm_column_sums *sums, uint64_t part)
{
    return sums->in_memory + (sums->in_file < part ? sums->in_file : part);
}
