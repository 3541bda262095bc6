/* SPDX-License-Identifier: Apache-2.0 */
/* files.h -- opening files that a user named, reading small files whole, waiting for input. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

/* open_file -- opening a path that a user named, without waiting and without touching a device.
 *
 * Opening a FIFO waits for its writer, and opening a device may have any effect; neither is a
 * document or a file of Bandmill. So the type of the file is checked before it is opened, and again
 * through the descriptor, since the path may lead to another file by then. */

/* The part of an address (base/address.h) that may be shown. The caller frees it. */
bm_status bm_address_name(const char *address, char **out, bm_error *err);
/* Open a regular file for reading; *fd -1 on failure. `other`: the status of a FIFO, a socket or a
 * device; the message names its kind. BM_ERR_IO, with the error's code, for errors of the system
 * and for a directory (EISDIR). */
bm_status bm_open_regular(const char *path, bm_status other, int *fd, bm_error *err);
/* As bm_open_regular, but a path that names a descriptor of the process (/dev/stdin, /dev/fd/N,
 * /proc/self/fd/N, as in process substitution) may also be a pipe or a terminal. Reading from it
 * may wait. */
bm_status bm_open_given(const char *path, bm_status other, int *fd, bm_error *err);

/* Look for a file or a folder at `path`, relative to the open folder (AT_FDCWD: to the working
 * directory). `flags`: AT_SYMLINK_NOFOLLOW looks at a symbolic link itself, 0 at its target.
 *
 *     BM_OK, *there is true     it is there, and *info describes it (`info` NULL: not asked)
 *     BM_OK, *there is false    nothing is there
 *     BM_ERR_IO                 it cannot be looked at (no permission, a broken disk). Callers must
 *                               not treat the file as missing: it may exist.
 *
 * To find out whether a file of Bandmill's own exists, call this function, or open the file and
 * pass the failure to bm_is_absent. */
bm_status bm_look_at(int folder, const char *path, int flags, bool *there, struct stat *info,
                     bm_error *err);

/* The name to pass to openat and similar calls. Functions with an open folder and a path as
 * arguments use the file in that folder with the last part of the path as its name, even if the
 * path now leads elsewhere. The whole path is only for messages. If the folder is AT_FDCWD, they
 * use the file at the path. */
const char *bm_name_in(int folder, const char *path);

/* read_file -- a small file as a whole. */

/* Append all of a file, or of a pipe that the process was given (bm_open_given), to `out`.
 * BM_ERR_INPUT: `path` is neither, or has more than `most` bytes. BM_ERR_IO: as from
 * bm_open_given. */
bm_status bm_read_file(const char *path, size_t most, bm_buf *out, bm_error *err);

/* whole_io -- reading or writing a whole block at a position of a file. A call that transfers less
 * is continued, and one that a signal interrupts is repeated. The position of the descriptor does
 * not change. */

/* Write `len` bytes at `offset`. Returns 0 or an errno; ENOSPC if no more bytes can be written. */
int bm_pwrite_all(int fd, const void *data, size_t len, uint64_t offset);
/* Read `len` bytes at `offset`. Returns 0 or an errno. *got: the bytes that were read, less than
 * `len` if the file ends earlier. */
int bm_pread_all(int fd, void *data, size_t len, uint64_t offset, size_t *got);

/* wait_readable -- waiting for input from a pipe or a terminal, in a way that can be cancelled. */

/* Wait until a read of `fd` would not wait, and read the bytes that are available, at most `cap`;
 * `fd` may be non-blocking. BM_OK: *got is the result of read (below 0: see errno; 0: the end).
 * BM_ERR_CANCELLED: callbacks->cancelled, which is called five times a second, returned true. */
bm_status bm_read_ready(const bm_callbacks *callbacks, int fd, void *out, size_t cap, ssize_t *got,
                        bm_error *err);

/* Return BM_ERR_CANCELLED if callbacks->cancelled returns true, else BM_OK. For loops that read. */
bm_status bm_check_cancelled(const bm_callbacks *callbacks, bm_error *err);
