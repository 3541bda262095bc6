/* SPDX-License-Identifier: Apache-2.0 */
/* stored_file.h -- reads the stored bytes of an input by position. The input is a regular file or
 * at an address (remote_file.h). */
#pragma once

#include "remote/remote_file.h"

typedef struct bm_stored_file {
    const char *name;
    int fd; /* -1: the file is at an address, or not open */
    bm_remote *remote;
    bm_remotes *own; /* NULL: `remote` (if any) is borrowed */
} bm_stored_file;

#define BM_STORED_FILE_NONE ((bm_stored_file){.fd = -1})

/* Open the file at `path`, which is borrowed until close. If the file is at an address and open
 * already, pass it as `remote`, which is also borrowed. If `path` is an address and `remote` is
 * NULL, this opens a connection of its own. Fails like bm_open_regular (BM_ERR_INPUT for anything
 * but a regular file) or bm_remote_open. */
bm_status bm_stored_open(const char *path, bm_remote *remote, const bm_callbacks *callbacks,
                         bm_stored_file *out, bm_error *err);
void bm_stored_close(bm_stored_file *file); /* BM_STORED_FILE_NONE is fine */
static inline bool bm_stored_is_open(const bm_stored_file *file)
{
    return file->fd >= 0 || file->remote != NULL;
}
/* Read `len` bytes at offset `at`, or as many as there are. Any thread. */
bm_status bm_stored_read(const bm_stored_file *file, void *out, size_t len, uint64_t at,
                         size_t *got, bm_error *err);
