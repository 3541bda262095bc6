/* SPDX-License-Identifier: Apache-2.0 */
/* out_dir.h -- a directory of outputs that appears whole or not at all.
 *
 * The outputs are written in a work directory beside the target, TARGET.partial, and synced there;
 * then one rename makes them the target. The job keeps the work directory, and the marker in it,
 * locked from before the first file to after the last rename: a second job for the same target gets
 * BM_ERR_LOCKED. The list in the marker (out_target.h) distinguishes the remains of a killed job
 * from other people's files. Missing folders above the target are made. Without commit, close
 * removes everything that was begun, including these folders.
 *
 * A work directory can also outlive its job, so that the job can be resumed. The job's state is
 * stored in files beside the outputs (bm_out_dir_state_path), above all the journal. After
 * bm_out_dir_preserve, close leaves all files; a killed job leaves them anyway.
 * bm_out_dir_open_again takes over a work directory that has a journal. No file of state ever
 * reaches the target.
 *
 * Threads: one at a time, except bm_out_dir_file and closing or aborting its files. */
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

/* Begin an output directory. BM_ERR_USAGE: `target` exists and may not be replaced, or
 * TARGET.partial contains anything that is not ours. BM_ERR_USAGE also if it contains the saved
 * work of an interrupted job, which only BM_OUT_REPLACE discards. BM_ERR_LOCKED: another job is
 * writing this output. BM_ERR_IO. */
bm_status bm_out_dir_open(const char *target, bm_out_existing existing, bm_out_dir **out,
                          bm_error *err);
/* The path of the work directory, until close. */
const char *bm_out_dir_work(const bm_out_dir *dir);
/* Create an output. `name` may have slashes: the folders in it are made. */
bm_status bm_out_dir_file(bm_out_dir *dir, const char *name, bm_out_file **out, bm_error *err);
/* List files that will be created, including files of state, with one sync for all. A file not
 * listed so is listed, with a sync, when it is created. */
bm_status bm_out_dir_expect(bm_out_dir *dir, const char *const *names, size_t n, bm_error *err);
/* List `names` of files that another library will create in the folder *out (a path, which the
 * caller frees). These files are neither digested nor synced here. */
bm_status bm_out_dir_reserve(bm_out_dir *dir, const char *const *names, size_t n, char **out,
                             bm_error *err);
/* Digest and sync all closed files. Call this once. A file closed later (the report, which lists
 * the digests) is not digested, and bm_out_dir_commit syncs it. */
bm_status bm_out_dir_finish(bm_out_dir *dir, bm_error *err);
/* Set the meter and the threads of bm_out_dir_finish. The meter counts each file twice: when it is
 * digested and when it is synced. The pool's threads compute the digests. Both are borrowed; each
 * may be NULL. */
void bm_out_dir_use(bm_out_dir *dir, bm_meter *meter, bm_pool *pool);
/* After bm_out_dir_finish: set *json to {"name": "SHA-256", …} sorted by name, borrowed until
 * close. */
bm_status bm_out_dir_digests(bm_out_dir *dir, const char **json, bm_error *err);
/* Like bm_out_dir_digests, with XXH3 128. */
bm_status bm_out_dir_digests_xxh3(bm_out_dir *dir, const char **json, bm_error *err);
/* Like bm_out_dir_digests, but only for files of several pieces, each with an array of the XXH3 128
 * of its pieces. */
bm_status bm_out_dir_digests_pieces(bm_out_dir *dir, const char **json, bm_error *err);
/* Check that the path of the work directory still leads to the directory that this job has locked.
 * BM_ERR_IO: it was removed, moved, or made anew by somebody else. */
bm_status bm_out_dir_check_claim(const bm_out_dir *dir, bm_error *err);
/* Sync all files, and check that the target may still be written. bm_out_dir_commit does this too;
 * a caller with work to do before the rename calls this first. */
bm_status bm_out_dir_ready(bm_out_dir *dir, bm_error *err);
/* Rename the outputs to the target; only close may follow. */
bm_status bm_out_dir_commit(bm_out_dir *dir, bm_error *err);
/* Has the rename been done? True also if bm_out_dir_commit failed in a sync after the rename. */
bool bm_out_dir_is_committed(const bm_out_dir *dir);
/* Close the directory. Without commit, the work directory is removed, or left after
 * bm_out_dir_preserve. Files that are still open must be aborted first. NULL is fine. */
void bm_out_dir_close(bm_out_dir *dir);

/* --- a directory that outlives its job --- */

/* Like bm_out_dir_open, but a work directory that an earlier job left with a journal is locked and
 * taken over unchanged: *found becomes true, and the directory is preserved, unless
 * bm_out_dir_preserve changes that. Any other work directory is cleared: *found becomes false. */
bm_status bm_out_dir_open_again(const char *target, bm_out_existing existing, bm_out_dir **out,
                                bool *found, bm_error *err);
/* Set whether close (without commit) and bm_out_file_abort leave the files, for
 * bm_out_dir_open_again. Initially they do not. */
void bm_out_dir_preserve(bm_out_dir *dir, bool preserve);
/* List a file of state, and set *out to its path, which the caller frees. `name` begins with
 * BM_OUT_STATE_PREFIX, has no slash and is not the marker's (else BM_ERR_INTERNAL). The caller
 * opens, syncs and closes the file. */
bm_status bm_out_dir_state_path(bm_out_dir *dir, const char *name, char **out, bm_error *err);
/* The descriptor of the work directory, until close. Files of state are opened relative to it, so
 * that no harm is done if another directory gets the path. */
int bm_out_dir_folder(const bm_out_dir *dir);
/* The folder that contains the work directory and the target, until close. */
const char *bm_out_dir_beside(const bm_out_dir *dir);
/* List a file that the job makes elsewhere, by its absolute path. It is not removed here, but a
 * later job that finds it can check in the list that a job made it. */
bm_status bm_out_dir_list_outside(bm_out_dir *dir, const char *path, bm_error *err);
bool bm_out_dir_lists_outside(const bm_out_dir *dir, const char *path);
/* Remove all files of state except the marker, the journal first. Then the job can no longer be
 * resumed. bm_out_dir_commit does this too. */
bm_status bm_out_dir_drop_state(const bm_out_dir *dir, bm_error *err);
/* After bm_out_dir_open_again has taken over a directory, before anything is written: remove all
 * listed outputs except those in `stay` (names of outputs, or of folders with all their contents).
 * Files of state are not removed. On failure some outputs may be removed. */
bm_status bm_out_dir_clear(bm_out_dir *dir, const char *const *stay, size_t n_stay, bm_error *err);
/* After bm_out_dir_open_again has taken over a directory: cut an existing file to its first
 * `bytes`, and continue after them. bm_out_file_bytes begins with `bytes`; digest and sync cover
 * the whole file. Call this once for each file of the earlier job that is to be an output, even a
 * complete one. BM_ERR_FORMAT, with nothing changed: the file is missing, shorter or not a regular
 * file. */
bm_status bm_out_dir_file_again(bm_out_dir *dir, const char *name, uint64_t bytes,
                                bm_out_file **out, bm_error *err);
