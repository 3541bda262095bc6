/* manifest_text.h -- the text of a manifest, and how large it may be. For manifest*.c. */
#ifndef BM_IO_MANIFEST_MANIFEST_TEXT_H
#define BM_IO_MANIFEST_MANIFEST_TEXT_H

#include <stdbool.h>

#include <bandmill/status.h>

#include "base/memory.h"

/* The memory that a manifest may take. Messages name the least of the whole. */
typedef struct bm_manifest_room {
    uint64_t memory; /* 0: no limit */
    unsigned share;  /* this part of it, 1: all */
} bm_manifest_room;

/* Before all of it is read: will it fit? Else BM_ERR_NOMEM, or
 * BM_ERR_FORMAT where it does not begin as ours do: a folder of documents may hold a large file of that
 * name. */
bm_status bm_manifest_check_size(const char *path, bm_manifest_room room, bm_error *err);
/* A file of `bytes` does not fit; `by_strings`: for the many names in it. Never BM_OK. */
bm_status bm_manifest_too_large(const char *path, uint64_t bytes, unsigned share, bool by_strings,
                                bm_error *err);
/* All of the file, which is a regular one. */
bm_status bm_manifest_read(const char *path, bm_buf *out, bm_error *err);

#endif
