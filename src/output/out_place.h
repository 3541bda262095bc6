/* out_place.h -- the steps by which an output gets its name: renaming and syncing. */
#ifndef BM_IO_OUTPUT_OUT_PLACE_H
#define BM_IO_OUTPUT_OUT_PLACE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* *out: the folder that `path` lies in, the caller's to free. */
bm_status bm_place_parent(const char *path, char **out, bm_error *err);
bm_status bm_place_sync_folder(const char *path, bm_error *err);
/* Does anything stand at `path`, a link too? BM_ERR_IO: that cannot be told. */
bm_status bm_place_look(const char *path, bool *there, bm_error *err);
/* Rename a file without replacing anything: BM_ERR_USAGE where `to` is there. */
bm_status bm_place_file(const char *from, const char *to, bm_error *err);
/* The same of the directory `name` in the open folder; an empty directory at `to` is replaced. */
bm_status bm_place_dir(int folder, const char *name, const char *to, bm_error *err);
/* Exchange the directory `name` (new) in the open folder and `to` (old): afterwards the old one is
 * `name`. */
bm_status bm_place_exchange(int folder, const char *name, const char *to, bm_error *err);

#endif
