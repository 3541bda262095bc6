/* SPDX-License-Identifier: Apache-2.0 */
/* out_dir.h -- a directory of outputs that appears whole or not at all.
 *
 * Its files are written in a work directory beside the target, TARGET.partial, and synced there;
 * then one rename puts them in place. The job holds that directory, and the marker in it, locked
 * from before its first file to after its last rename: a second job for the same target gets
 * BM_ERR_LOCKED. The list in the marker (out_target.h) distinguishes the remains of a killed job
 * from files of others. Folders above the target that are missing are made. Without commit, close
 * removes everything that was begun, including those folders.
 *
 * A work directory can also outlive its job, to be gone on with. What the job notes about itself
 * lies in files of state beside the outputs (bm_out_dir_state_path), the chief of them the journal;
 * bm_out_dir_preserve makes close leave all of it, and a job that is killed leaves it anyway.
 * bm_out_dir_open_again takes over a work directory that has a journal. No file of state ever
 * reaches the target.
 *
 * Threads: one at a time, but for bm_out_dir_file and the end of its files. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/meter.h"
#include "base/threads.h"
#include "json/json_write.h"
#include "output/digest.h"
#include "output/out_file.h"
#include "output/out_lock.h"
#include "output/out_target.h"

typedef struct bm_out_dir bm_out_dir;

/* BM_ERR_USAGE: something is at `target` that is not to be replaced, or TARGET.partial holds
 * anything that is not ours, or the sealed work of an interrupted job, which only BM_OUT_REPLACE
 * discards. BM_ERR_LOCKED: another job writes this output now. BM_ERR_IO. */
bm_status bm_out_dir_open(const char *target, bm_out_existing existing, bm_out_dir **out,
                          bm_error *err);
/* The path of the work directory, until close. */
const char *bm_out_dir_work(const bm_out_dir *dir);
/* A new file. `name` may have slashes: folders are made. */
bm_status bm_out_dir_file(bm_out_dir *dir, const char *name, bm_out_file **out, bm_error *err);
/* Files of these names, of state too, will be asked for: they are listed with one sync, where each
 * alone takes one. */
bm_status bm_out_dir_expect(bm_out_dir *dir, const char *const *names, size_t n, bm_error *err);
/* For `names`, which a library of somebody else's makes in *out, a folder (the caller's to free):
 * they are listed, but neither digested nor synced here. */
bm_status bm_out_dir_reserve(bm_out_dir *dir, const char *const *names, size_t n, char **out,
                             bm_error *err);
/* Digest and sync all files that were closed. Once: a file that is closed later (the report, which
 * lists the digests) is synced by commit, and not digested. */
bm_status bm_out_dir_finish(bm_out_dir *dir, bm_error *err);
/* Lend finish a meter and threads: the meter counts each file twice, when it is digested and when
 * it is synced; the pool's threads share the digests. Borrowed; NULL: neither. */
void bm_out_dir_use(bm_out_dir *dir, bm_meter *meter, bm_pool *pool);
/* After finish: {"name": "SHA-256", …} sorted by name. The directory's own, until close. */
bm_status bm_out_dir_digests(bm_out_dir *dir, const char **json, bm_error *err);
/* The same with XXH3 128. */
bm_status bm_out_dir_digests_xxh3(bm_out_dir *dir, const char **json, bm_error *err);
/* The same with an array of the pieces' XXH3 128, of files that have several; "{}": there is none.
 */
bm_status bm_out_dir_digests_pieces(bm_out_dir *dir, const char **json, bm_error *err);
/* BM_OK: the work directory is still the one that this job holds. BM_ERR_IO: it was removed, moved,
 * or made anew by somebody else. */
bm_status bm_out_dir_check_claim(const bm_out_dir *dir, bm_error *err);
/* The first steps of commit, for a caller who has something to do before the rest: all files are on
 * the disk, and the target may still be written. */
bm_status bm_out_dir_ready(bm_out_dir *dir, bm_error *err);
/* Give the directory its name; only close may follow. */
bm_status bm_out_dir_commit(bm_out_dir *dir, bm_error *err);
/* Has it its name? It may have it although commit failed, if only the sync was left to do. */
bool bm_out_dir_is_committed(const bm_out_dir *dir);
/* Without commit: remove the work directory, or leave it (bm_out_dir_preserve). Files that are
 * still open are to be aborted before. NULL is fine. */
void bm_out_dir_close(bm_out_dir *dir);

/* --- a directory that outlives its job --- */

/* As bm_out_dir_open, but a work directory that an earlier job left with a journal is locked and
 * taken over as it is: *found is true, and it is preserved until bm_out_dir_preserve changes that.
 * Any other is cleared: *found is false. */
bm_status bm_out_dir_open_again(const char *target, bm_out_existing existing, bm_out_dir **out,
                                bool *found, bm_error *err);
/* Shall close (without commit) and bm_out_file_abort leave the files for bm_out_dir_open_again? At
 * first they do not. */
void bm_out_dir_preserve(bm_out_dir *dir, bool preserve);
/* *out: the path of a file of state, which is listed, the caller's to free. `name` begins with
 * BM_OUT_STATE_PREFIX, has no slash and is not the marker's (BM_ERR_INTERNAL). The caller opens,
 * syncs and closes the file. */
bm_status bm_out_dir_state_path(bm_out_dir *dir, const char *name, char **out, bm_error *err);
/* The work directory, open, until close: files of state are opened in it by their names, which is
 * safe where another directory has come to its path. */
int bm_out_dir_folder(const bm_out_dir *dir);
/* The folder that the work directory and the target lie in, until close. */
const char *bm_out_dir_beside(const bm_out_dir *dir);
/* List a file that the job makes elsewhere, by its absolute path: nothing here removes it, but a
 * later job that finds it there can ask whether it was a job's own. */
bm_status bm_out_dir_list_outside(bm_out_dir *dir, const char *path, bm_error *err);
bool bm_out_dir_lists_outside(const bm_out_dir *dir, const char *path);
/* Remove all files of state but the marker, the journal first: the job cannot be resumed any more.
 * Commit does it too. */
bm_status bm_out_dir_drop_state(const bm_out_dir *dir, bm_error *err);
/* After a take-over, before anything is written: remove all outputs that are listed but those named
 * in `stay` (by their names in the directory; a folder stays with all it holds). Files of state
 * stay. On failure some are removed. */
bm_status bm_out_dir_clear(bm_out_dir *dir, const char *const *stay, size_t n_stay, bm_error *err);
/* After a take-over: a file that is there is cut to its first `bytes` and written on after them;
 * bm_out_file_bytes begins with `bytes`, digest and sync are of the whole file. Each file of the
 * earlier job that is to be an output goes through here, once, even one that was complete.
 * BM_ERR_FORMAT, with nothing changed: it is missing, shorter or no regular file. */
bm_status bm_out_dir_file_again(bm_out_dir *dir, const char *name, uint64_t bytes,
                                bm_out_file **out, bm_error *err);
