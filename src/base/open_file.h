/* open_file.h -- opening what somebody else named, without waiting and without touching a device.
 *
 * Opening a FIFO waits for its writer, opening a device may do anything, and neither is a document
 * or a file of ours. So what a path leads to is looked at before it is opened, and once more
 * through the descriptor, since it may be another file by then. */
#ifndef BM_BASE_OPEN_FILE_H
#define BM_BASE_OPEN_FILE_H

#include <stdbool.h>

#include <bandmill/status.h>

/* Open a regular file for reading; *fd -1 on failure. `other`: the status of a FIFO, a socket
 * or a device, whose message says which it is. BM_ERR_IO, and the error's code, for what the system
 * says, and for a directory (EISDIR). */
bm_status bm_open_regular(const char *path, bm_status other, int *fd, bm_error *err);
/* The same; and for a path that names a descriptor which the process was given (/dev/stdin,
 * /dev/fd/N, /proc/self/fd/N: process substitution) whatever that is, a pipe or a terminal. Reading
 * it waits. */
bm_status bm_open_given(const char *path, bm_status other, int *fd, bm_error *err);

/* Where a call takes an open folder and a path, the last part of the path is the name of a file in the
 * folder, whatever the path has come to lead to, and the path is for messages; AT_FDCWD: the file is
 * that of the path. The name, for openat and its like: */
const char *bm_name_in(int folder, const char *path);

#endif
