/* SPDX-License-Identifier: Apache-2.0 */
/* spill_saved.h -- a temporary file that outlives its process: it gets a name, and another process
 * goes on from any number of bytes that were flushed.
 *
 * Nothing is synced: after a crash of the system the file may be shorter or hold other bytes, and
 * both are found when it is opened again or read. */
#pragma once

#include "spill/spill_file.h"

/* Flush, and give the file the name `path` in an open folder (bm_name_in), under which it stays
 * when the process ends; a file that is there is removed first (a symbolic link itself, not its
 * target). Places stay as they are and records are added as before. `path` lies in the file system
 * of the directory that the file was opened in, best in that directory: where it cannot be linked
 * (another file system, no O_TMPFILE, no /proc) its contents are copied, which for a while takes
 * their size on disk twice. Once a file: a second call is BM_ERR_INTERNAL. BM_ERR_IO, BM_ERR_NOMEM:
 * the file has no name, and works on without. */
bm_status bm_spill_save_in(bm_spill_file *file, int folder, const char *path, bm_error *err);

/* A file that was saved, as it was when bm_spill_bytes and bm_spill_records said so (and it was
 * flushed). */
typedef struct bm_spill_saved {
    const char *path;
    bm_spill_kind kind;
    uint64_t bytes, records;
} bm_spill_saved;

/* Open it in an open folder with a write buffer of `buffer` bytes: bytes appended later are cut
 * off, and records are added at the end. BM_ERR_FORMAT, naming the path, and nothing changed:
 * missing, shorter, no regular file (a link is not followed), of another kind, another header, or
 * numbers that no file has. The header is checked here, the records by bm_spill_walk or when they
 * are read. BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_spill_reopen_in(int folder, const bm_spill_saved *saved, size_t buffer,
                             bm_spill_file **out, bm_error *err);

/* Has it got a name? */
bool bm_spill_has_name(const bm_spill_file *file);
/* Is this file still the one at its name, and not another one in its place? */
bool bm_spill_has_its_name(const bm_spill_file *file);

/* Is there a regular file at `path`, no link, that begins as one of this kind does? It is only
 * looked at. */
bool bm_spill_is_saved(const char *path, bm_spill_kind kind);

/* A record of `len` bytes at `place`. `data`, borrowed until it returns, is aligned to 8 bytes.
 * Any status but BM_OK ends the walk, which returns it. */
typedef bm_status bm_spill_visit(void *ctx, uint64_t place, const void *data, size_t len,
                                 bm_error *err);
/* All records from the first to the last, each checked before `visit` (NULL: none) sees it. Reads
 * 256 KiB at a time, and holds as much or the longest record. The file is flushed and has not ended
 * (BM_ERR_INTERNAL). BM_ERR_FORMAT: a damaged record, a last one that is torn, or another number of
 * them than was added. */
bm_status bm_spill_walk(const bm_spill_file *file, bm_spill_visit *visit, void *ctx, bm_error *err);

/* spill_columns -- a record that holds columns of a table.
 *
 *     record   bytes of column 0 .. n - 1 | column 0 | column 1 | ... | column n - 1
 *              8 bytes each                 each begins at a multiple of 8
 *
 * A column that a record lacks has no bytes. The owner of the file knows how many columns a record
 * has, and their types. */

/* A record while it is made; {0} is empty, bm_buf_reset(&columns.buf) its end. What is appended to
 * `buf` belongs to the next column, until that is ended. */
typedef struct bm_spill_columns {
    bm_buf buf;
    size_t next; /* column */
    size_t from; /* where it begins in `buf` */
} bm_spill_columns;

/* A record of n columns, all empty. */
bm_status bm_spill_columns_begin(bm_spill_columns *columns, size_t n, bm_error *err);
/* The column that was appended is complete. Columns at the end of a record that are empty need not
 * be ended. */
bm_status bm_spill_columns_end(bm_spill_columns *columns, bm_error *err);
/* Append the next column, and end it. With `len` 0, `data` may be NULL. */
bm_status bm_spill_columns_put(bm_spill_columns *columns, const void *data, size_t len,
                               bm_error *err);

/* The n columns of a record that is aligned to 8 bytes, as bm_spill_visit gives it. False: its
 * length is not the sum of n columns. */
bool bm_spill_columns_find(const void *record, size_t len, bm_str *columns, size_t n);
