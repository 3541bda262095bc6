/* out_place.h -- the steps by which an output gets its name: renaming, syncing, removing. */
#ifndef BM_IO_OUTPUT_OUT_PLACE_H
#define BM_IO_OUTPUT_OUT_PLACE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* *out: the folder that `path` lies in, the caller's to free. */
bm_status bm_place_parent(const char *path, char **out, bm_error *err);
bm_status bm_place_sync_folder(const char *path, bm_error *err);
/* Rename a file, or a directory, without replacing anything but, by a directory, an empty one:
 * BM_ERR_USAGE where `to` is there. */
bm_status bm_place_file(const char *from, const char *to, bm_error *err);
bm_status bm_place_dir(const char *from, const char *to, bm_error *err);
/* Exchange `from` (new) and `to` (old): afterwards the old one lies at `from`. */
bm_status bm_place_exchange(const char *from, const char *to, bm_error *err);
/* Remove a file, or a directory and all in it; links are removed, not followed. BM_OK where nothing
 * is there. */
bm_status bm_place_remove(const char *path, bm_error *err);

#endif
