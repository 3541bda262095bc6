/* out_work.h -- what lies in a work directory: the folders made in it, and what is removed from
 * it. */
#ifndef BM_IO_OUTPUT_OUT_WORK_H
#define BM_IO_OUTPUT_OUT_WORK_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* Folders below the work directory, which are synced before it gets its name. {0} is empty. */
typedef struct bm_out_folders {
    char **paths; /* owned; a folder stands before those in it */
    size_t n, cap;
} bm_out_folders;

/* Make the folders of `path` that are missing. `path` lies below `work`, and is as before when the
 * call returns. */
bm_status bm_out_folders_make(bm_out_folders *folders, const char *work, char *path, bm_error *err);
/* Those that lie in others first. */
bm_status bm_out_folders_sync(const bm_out_folders *folders, bm_error *err);
void bm_out_folders_reset(bm_out_folders *folders); /* frees */

/* Which outputs of an earlier job stay: files, and folders with all they hold, by their names below
 * the work directory. */
typedef struct bm_out_stay {
    const char *const *names;
    size_t n;
} bm_out_stay;

/* Remove every output but those that stay; files of state stay too. Folders that stay are added to
 * `folders`. Links are removed, not followed. On failure some are removed. */
bm_status bm_out_work_clear(const char *work, const bm_out_stay *stay, bm_out_folders *folders,
                            bm_error *err);
/* Remove the files of state but for the marker, the journal first: without a journal there is
 * nothing to resume, whatever else is left. */
bm_status bm_out_work_drop_state(const char *work, bm_error *err);
/* Remove the whole directory, the journal first for the same reason. */
bm_status bm_out_work_remove(const char *work, bm_error *err);

#endif
