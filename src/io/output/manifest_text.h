/* manifest_text.h -- the text of a manifest, and how large it may be. For manifest*.c. */
#ifndef BM_IO_OUTPUT_MANIFEST_TEXT_H
#define BM_IO_OUTPUT_MANIFEST_TEXT_H

#include <stdbool.h>

#include <bandmill/status.h>

#include "base/memory.h"

/* Before all of it is read: will it fit into `memory` bytes (0: any will)? Else BM_ERR_NOMEM, or
 * BM_ERR_FORMAT where it does not begin as ours do: a folder of documents may hold a large file of that
 * name. */
bm_status bm_manifest_check_size(const char *path, uint64_t memory, bm_error *err);
/* A file of `bytes` does not fit; `by_strings`: for the many names in it. Never BM_OK. */
bm_status bm_manifest_too_large(const char *path, uint64_t bytes, bool by_strings, bm_error *err);
/* All of the file, which is a regular one. */
bm_status bm_manifest_read(const char *path, bm_buf *out, bm_error *err);

#endif
