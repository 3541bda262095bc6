/* SPDX-License-Identifier: Apache-2.0 */
/* spill_saved.h -- a temporary file that outlives its process. It gets a name, and another process
 * can continue it from any length that it had after a flush.
 *
 * Nothing is synced. After a crash of the system the file may be shorter or have wrong bytes. This
 * is detected when the file is opened again or read. */
#pragma once

#include "spill/spill_file.h"

/* Flush the file, and give it the name `path` in an open folder (bm_name_in). It keeps this name
 * when the process ends. An existing file of this name is removed first (a symbolic link itself,
 * not its target). Offsets do not change, and records are added as before. `path` should be in the
 * same file system as the directory in which the file was opened, and best in that directory. If
 * the file cannot be linked (another file system, no O_TMPFILE, no /proc), its contents are copied,
 * which temporarily takes twice their size on disk. Call this once for each file; a second call
 * returns BM_ERR_INTERNAL. After BM_ERR_IO or BM_ERR_NOMEM, the file has no name, but can still be
 * used. */
bm_status bm_spill_save_in(bm_spill_file *file, int folder, const char *path, bm_error *err);

/* A saved file. The numbers are those that bm_spill_bytes and bm_spill_records returned after a
 * flush. */
typedef struct bm_spill_saved {
    const char *path;
    bm_spill_kind kind;
    uint64_t bytes, records;
} bm_spill_saved;

/* Open a saved file in an open folder, with a write buffer of `buffer` bytes. Bytes that were
 * appended after it was saved are cut off, and new records are added at the end. Only the header is
 * checked here; records are checked by bm_spill_walk, or when they are read. BM_ERR_FORMAT: the
 * file is missing, shorter, not regular (a link is not followed), or of another kind; its header
 * differs; or the numbers in `saved` are impossible. The error names the path, and nothing is
 * changed. BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_spill_reopen_in(int folder, const bm_spill_saved *saved, size_t buffer,
                             bm_spill_file **out, bm_error *err);

/* Does the file have a name? */
bool bm_spill_has_name(const bm_spill_file *file);
/* Does the name of the file still lead to this file, and not to another one? */
bool bm_spill_has_its_name(const bm_spill_file *file);

/* Is there a regular file (not a link) at `path` that begins like a file of this kind? The file is
 * not changed. */
bool bm_spill_is_saved(const char *path, bm_spill_kind kind);

/* Called for a record of `len` bytes at `offset`. `data` is borrowed until the call returns, and is
 * aligned to 8 bytes. If the call returns a status other than BM_OK, the walk ends with this
 * status. */
typedef bm_status bm_spill_visit(void *ctx, uint64_t offset, const void *data, size_t len,
                                 bm_error *err);
/* Visit all records from the first to the last. `visit` may be NULL. Each record is checked before
 * `visit` is called. The walk reads 256 KiB at a time and uses as much memory, or more for a longer
 * record. The file must be flushed (else BM_ERR_INTERNAL). BM_ERR_FORMAT: a record is damaged, the
 * last record is incomplete, or the number of records is not the number that was added. */
bm_status bm_spill_walk(const bm_spill_file *file, bm_spill_visit *visit, void *ctx, bm_error *err);

/* spill_columns -- makes and reads a record that consists of columns of a table.
 *
 *     record   bytes of column 0 .. n - 1 | column 0 | column 1 | ... | column n - 1
 *              8 bytes each                 each begins at a multiple of 8
 *
 * A column that a record does not have takes 0 bytes. The caller defines the number of columns and
 * their types. */

/* A record that is being made. {0} is empty, and bm_buf_reset(&columns.buf) frees it. Bytes that
 * are appended to `buf` belong to column `next` until bm_spill_columns_end is called. */
typedef struct bm_spill_columns {
    bm_buf buf;
    size_t next; /* number of the current column */
    size_t from; /* offset in `buf` of the current column */
} bm_spill_columns;

/* Begin a record of n columns, all empty. */
bm_status bm_spill_columns_begin(bm_spill_columns *columns, size_t n, bm_error *err);
/* End the current column. Empty columns at the end of a record need not be ended. */
bm_status bm_spill_columns_end(bm_spill_columns *columns, bm_error *err);
/* Append the next column, and end it. With `len` 0, `data` may be NULL. */
bm_status bm_spill_columns_put(bm_spill_columns *columns, const void *data, size_t len,
                               bm_error *err);

/* Find the n columns of a record. `record` must be aligned to 8 bytes, as bm_spill_visit gets it.
 * False: `len` is not the length of a record with n columns. */
bool bm_spill_columns_find(const void *record, size_t len, bm_str *columns, size_t n);
