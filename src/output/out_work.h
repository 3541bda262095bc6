/* out_work.h -- what lies in a work directory that is held (out_dir_lock.h): folders made in it, and
 * what is removed from it. All goes through descriptors; paths are for messages. */
#ifndef BM_IO_OUTPUT_OUT_WORK_H
#define BM_IO_OUTPUT_OUT_WORK_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/out_ours.h"

/* Make the folders of `name`, relative to the open folder, that are missing. `path`: of the folder. */
bm_status bm_out_work_folders(int folder, const char *name, const char *path, bm_error *err);
/* Sync the outputs' folder and all folders below it that hold what is listed. */
bm_status bm_out_work_sync(int folder, const bm_ours *ours, const char *path, bm_error *err);

/* Which outputs of an earlier job stay: files, and folders with all they hold, by their names below
 * the folder of outputs. */
typedef struct bm_out_stay {
    const char *const *names;
    size_t n;
} bm_out_stay;

/* Of what is listed, remove every output but those that stay; files of state stay too. On failure some
 * are removed. */
bm_status bm_out_work_clear(bm_ours_at at, const bm_ours *ours, const bm_out_stay *stay,
                            bm_error *err);
/* Remove the files of state but for the marker, the journal first: without a journal there is
 * nothing to resume, whatever else is left. */
bm_status bm_out_work_drop_state(bm_ours_at at, const bm_ours *ours, bm_error *err);
/* Remove all that is listed but the marker, the journal first for the same reason. */
bm_status bm_out_work_empty(bm_ours_at at, const bm_ours *ours, bm_error *err);

#endif
