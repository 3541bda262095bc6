/* SPDX-License-Identifier: Apache-2.0 */
/* files.h -- opens files that a user named, reads small files whole, waits for input. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

/* open_file -- opens a path that a user named, without waiting and without touching a device.
 *
 * Opening a FIFO waits for its writer, and opening a device may have any effect. Neither is a
 * document or a file of Bandmill. So the type of the file is checked before it is opened. It is
 * checked again through the descriptor, since the path may lead to another file by then. */

/* The part of an address (base/address.h) that may be shown. The caller frees it. */
bm_status bm_address_name(const char *address, char **out, bm_error *err);
/* Open a regular file for reading. On failure *fd is -1. For a FIFO, a socket or a device, the
 * status is `other`, and the message names the kind. For a directory (EISDIR) and for errors of the
 * system, the status is BM_ERR_IO, with the error's code. */
bm_status bm_open_regular(const char *path, bm_status other, int *fd, bm_error *err);
/* Like bm_open_regular. But if the path names a descriptor of the process (/dev/stdin, /dev/fd/N,
 * /proc/self/fd/N, as in process substitution), the file may also be a pipe or a terminal. Reading
 * from such a file may wait. */
bm_status bm_open_given(const char *path, bm_status other, int *fd, bm_error *err);

/* Look for a file or a folder at `path`, which is relative to the open folder (AT_FDCWD: to the
 * working directory). With AT_SYMLINK_NOFOLLOW in `flags`, a symbolic link itself is looked at;
 * with 0 its target.
 *
 *     BM_OK, *there is true     it is there, and *info describes it (`info` NULL: not asked)
 *     BM_OK, *there is false    nothing is there
 *     BM_ERR_IO                 it cannot be looked at (no permission, a broken disk). Callers must
 *                               not treat the file as missing: it may exist.
 *
 * To find out whether a file that Bandmill writes exists, call this function, or open the file and
 * pass the failure to bm_is_absent. */
bm_status bm_look_at(int folder, const char *path, int flags, bool *there, struct stat *info,
                     bm_error *err);

/* The name to pass to openat and similar calls, for functions that get an open folder and a path.
 * Such a function uses the file in the folder, and the last part of the path is the file's name,
 * even if the path now leads elsewhere. The whole path is only for messages. But if the folder is
 * AT_FDCWD, the function uses the file at the path. */
const char *bm_name_in(int folder, const char *path);

/* read_file -- reads a small file as a whole. */

/* Append to `out` all bytes of a file, or of a pipe that the process was given (bm_open_given).
 * BM_ERR_INPUT: `path` leads to neither, or to more than `most` bytes. BM_ERR_IO: as from
 * bm_open_given. */
bm_status bm_read_file(const char *path, size_t most, bm_buf *out, bm_error *err);

/* whole_io -- reads or writes a whole block at a position of a file. If a system call transfers
 * fewer bytes, the rest is transferred by another call. If a signal interrupts a call, it is
 * repeated. The position of the descriptor does not change. */

/* Write `len` bytes at `offset`. Returns 0 or an errno; ENOSPC if no more bytes can be written. */
int bm_pwrite_all(int fd, const void *data, size_t len, uint64_t offset);
/* Read `len` bytes at `offset`. Returns 0 or an errno. *got becomes the number of bytes read, which
 * is less than `len` if the file ends before. */
int bm_pread_all(int fd, void *data, size_t len, uint64_t offset, size_t *got);

/* wait_readable -- waits for input from a pipe or a terminal, in a way that can be cancelled. */

/* Wait until `fd` has input, and read the bytes that are available, at most `cap`. `fd` may be
 * non-blocking. BM_OK: *got is the result of read (below 0: see errno; 0: the end).
 * BM_ERR_CANCELLED: callbacks->cancelled, which is called five times a second, returned true. */
bm_status bm_read_ready(const bm_callbacks *callbacks, int fd, void *out, size_t cap, ssize_t *got,
                        bm_error *err);

/* Return BM_ERR_CANCELLED if callbacks->cancelled returns true, else BM_OK. For loops that read
 * files. */
bm_status bm_check_cancelled(const bm_callbacks *callbacks, bm_error *err);
