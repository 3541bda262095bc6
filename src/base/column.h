/* SPDX-License-Identifier: Apache-2.0 */
/* column.h -- an array that grows where it is: its elements never move, so any thread may read and
 * write those that are there while one thread makes room for more.
 *
 *     address space   [ pages of memory ... | pages of a file ... | free ......... ]
 *                     data                  in_memory             bytes            space
 *
 * The first growth takes a stretch of address space for the column alone. Later growths map more of
 * it: pages of memory, or pages of a file that has no name, as the caller asks each time. Pages
 * that were never written to take no memory, and where a column is large the system is asked for
 * huge pages.
 *
 * Pages of a file have no checksums. If the disk fails to read one, the process ends, as it does
 * for memory that the system has swapped out. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bandmill/status.h>

typedef struct bm_column {
    void *data;          /* NULL: nothing yet */
    atomic_size_t bytes; /* that may be used: the first of them, zero until they are written */
    size_t space;     /* bytes of address space that are the column's; 0: those beyond `bytes` may
                            be anybody's */
    size_t in_memory; /* where the pages of the file begin */
    atomic_int file;  /* 1 + its descriptor; 0: there is none */
    const char *dir;  /* borrowed; where it lies */
} bm_column;          /* {0} is empty */

/* Make room for `bytes`, and for some more. The new pages are memory, or where `dir` is given, or
 * was given before, pages of a file in that directory; if the directory is gone, they are memory
 * too. One thread at a time. On failure nothing changes: BM_ERR_NOMEM, also where other memory lies
 * in the way; BM_ERR_IO where the disk is full, or its file system cannot be mapped. `dir` is
 * borrowed. */
bm_status bm_column_grow(bm_column *column, size_t bytes, const char *dir, bm_error *err);
/* Give back what lies beyond the first `bytes`. */
void bm_column_trim(bm_column *column, size_t bytes);
/* Put all pages into memory; only the first `used` bytes hold elements. Nobody else uses the column
 * meanwhile. On failure nothing changes. */
bm_status bm_column_to_memory(bm_column *column, size_t used, bm_error *err);
void bm_column_reset(bm_column *column);

/* Pages of a file count as memory of the process once they are looked at. After this call they do
 * not, until they are looked at again. Any thread, while others read and write them. */
void bm_column_leave(const bm_column *column);
/* Copy `n` bytes that begin at `at`. For a few bytes here and there this reads and holds less of a
 * file than looking at its pages, which brings their neighbours. False: they are in memory, or the
 * file cannot be read in this way. */
bool bm_column_read(const bm_column *column, void *out, size_t n, uint64_t at);

/* The same of a column that lies in a file as a whole, all of `bytes` at once: memory is short.
 * `column` is empty. BM_ERR_IO also where the directory is gone. */
bm_status bm_column_open_file(bm_column *column, size_t bytes, const char *dir, bm_error *err);
/* BM_ERR_IO: the file cannot be read. */
bm_status bm_column_read_file(const bm_column *column, void *out, size_t n, uint64_t at,
                              bm_error *err);

/* Do the pages from `in_memory` on lie in a file? */
static inline bool bm_column_has_file(const bm_column *column)
{
    return atomic_load_explicit(&column->file, memory_order_relaxed) != 0;
}

/* Bytes of the column that `bytes` in all would have in memory, and in a file. */
typedef struct bm_column_sums {
    uint64_t in_memory, in_file;
} bm_column_sums;

void bm_column_sum(const bm_column *column, uint64_t bytes, bm_column_sums *sums);
/* The memory that such columns take, if pages of files leave it before they exceed `part`. */
static inline uint64_t bm_column_held(const bm_column_sums *sums, uint64_t part)
{
    return sums->in_memory + (sums->in_file < part ? sums->in_file : part);
}
