/* SPDX-License-Identifier: Apache-2.0 */
/* out_dir.h -- a directory of outputs that appears whole or not at all.
 *
 * The outputs are written in a work directory beside the target, TARGET.partial, and synced there.
 * Then one rename makes them the target. The job locks the work directory, and the marker in it,
 * before it makes the first file, and unlocks them after the last rename. A second job for the same
 * target gets BM_ERR_LOCKED. The marker lists the files of the job (out_target.h), so the remains
 * of a killed job can be distinguished from other people's files. Missing folders above the target
 * are made. If there was no commit, close removes everything that was begun, including the folders.
 *
 * A work directory can also outlive its job, so that the job can be resumed. The job's state is
 * stored in files beside the outputs (bm_out_dir_state_path), above all the journal. After
 * bm_out_dir_preserve, close leaves all files; a killed job leaves them anyway.
 * bm_out_dir_open_again takes over a work directory that has a journal. No file of state ever
 * reaches the target.
 *
 * Threads: one at a time. But any thread may call bm_out_dir_file, and close or abort the files
 * that it returns. */
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
 * TARGET.partial contains anything that is not ours, or TARGET.partial contains the saved work of
 * an interrupted job. Only BM_OUT_REPLACE discards saved work. BM_ERR_LOCKED: another job is
 * writing this output. BM_ERR_IO. */
bm_status bm_out_dir_open(const char *target, bm_out_existing existing, bm_out_dir **out,
                          bm_error *err);
/* The path of the work directory, until close. */
const char *bm_out_dir_work(const bm_out_dir *dir);
/* Create an output. If `name` has slashes, the folders in it are made. */
bm_status bm_out_dir_file(bm_out_dir *dir, const char *name, bm_out_file **out, bm_error *err);
/* List files that will be created, including files of state, with one sync for all. Any other file
 * is listed, with a sync of its own, when it is created. */
bm_status bm_out_dir_expect(bm_out_dir *dir, const char *const *names, size_t n, bm_error *err);
/* List files that another library will create. *out becomes the path of the folder for them, which
 * the caller frees. These files are neither digested nor synced here. */
bm_status bm_out_dir_reserve(bm_out_dir *dir, const char *const *names, size_t n, char **out,
                             bm_error *err);
/* Digest and sync all files that are closed. Call this once. A file that is closed later (the
 * report, which lists the digests) is not digested, and is synced by bm_out_dir_commit. */
bm_status bm_out_dir_finish(bm_out_dir *dir, bm_error *err);
/* Set the meter and the threads of bm_out_dir_finish. The meter counts each file twice: when it is
 * digested and when it is synced. The pool's threads compute the digests. Both are borrowed; each
 * may be NULL. */
void bm_out_dir_use(bm_out_dir *dir, bm_meter *meter, bm_pool *pool);
/* After bm_out_dir_finish: set *json to an object {"name": "SHA-256", …}, sorted by name.
 * Borrowed until close. */
bm_status bm_out_dir_digests(bm_out_dir *dir, const char **json, bm_error *err);
/* Like bm_out_dir_digests, with XXH3 128. */
bm_status bm_out_dir_digests_xxh3(bm_out_dir *dir, const char **json, bm_error *err);
/* Like bm_out_dir_digests, but each name has an array of the XXH3 128 of the file's pieces. Only
 * files of several pieces are in the object. */
bm_status bm_out_dir_digests_pieces(bm_out_dir *dir, const char **json, bm_error *err);
/* Check that the path of the work directory still leads to the directory that this job has locked.
 * BM_ERR_IO: somebody removed, moved or remade the directory. */
bm_status bm_out_dir_check_claim(const bm_out_dir *dir, bm_error *err);
/* Sync all files, and check that the target may still be written. bm_out_dir_commit does this too;
 * a caller with work to do before the rename calls this first. */
bm_status bm_out_dir_ready(bm_out_dir *dir, bm_error *err);
/* Rename the outputs to the target; only close may follow. */
bm_status bm_out_dir_commit(bm_out_dir *dir, bm_error *err);
/* Has the rename been done? If bm_out_dir_commit fails in a sync after the rename, this is true
 * too. */
bool bm_out_dir_is_committed(const bm_out_dir *dir);
/* Close the directory. If there was no commit, the work directory is removed, but after
 * bm_out_dir_preserve it stays. Files that are still open must be aborted first. NULL is fine. */
void bm_out_dir_close(bm_out_dir *dir);

/* --- a directory that outlives its job --- */

/* Like bm_out_dir_open, except if an earlier job left a work directory with a journal. That
 * directory is locked and taken over unchanged, and *found becomes true. It is preserved, unless
 * bm_out_dir_preserve changes that. Any other work directory is cleared, and *found becomes
 * false. */
bm_status bm_out_dir_open_again(const char *target, bm_out_existing existing, bm_out_dir **out,
                                bool *found, bm_error *err);
/* Set whether bm_out_file_abort, and closing without a commit, leave the files in place, so that
 * bm_out_dir_open_again finds them. Initially true only if an earlier job's directory was taken
 * over. */
void bm_out_dir_preserve(bm_out_dir *dir, bool preserve);
/* List a file of state, and set *out to its path, which the caller frees. `name` begins with
 * BM_OUT_STATE_PREFIX, has no slash, and is not the name of the marker (else BM_ERR_INTERNAL). The
 * caller opens, syncs and closes the file. */
bm_status bm_out_dir_state_path(bm_out_dir *dir, const char *name, char **out, bm_error *err);
/* The descriptor of the work directory, until close. Files of state are opened relative to the
 * descriptor, so it does no harm if another directory gets the path. */
int bm_out_dir_folder(const bm_out_dir *dir);
/* The folder that contains the work directory and the target, until close. */
const char *bm_out_dir_beside(const bm_out_dir *dir);
/* List a file that the job makes outside the directory, by its absolute path. The file is not
 * removed here. But a later job that finds the file can see from the list that a job made it. */
bm_status bm_out_dir_list_outside(bm_out_dir *dir, const char *path, bm_error *err);
bool bm_out_dir_lists_outside(const bm_out_dir *dir, const char *path);
/* Remove all files of state except the marker. The journal is removed first, and without it the job
 * cannot be resumed. bm_out_dir_commit also calls this. */
bm_status bm_out_dir_drop_state(const bm_out_dir *dir, bm_error *err);
/* Remove all listed outputs except those in `stay`: names of outputs, or of folders with all their
 * contents. Call it after bm_out_dir_open_again has taken over a directory, before anything is
 * written. Files of state are not removed. On failure some outputs may be removed. */
bm_status bm_out_dir_clear(bm_out_dir *dir, const char *const *stay, size_t n_stay, bm_error *err);
/* Continue a file of a directory that bm_out_dir_open_again has taken over. The file is cut to its
 * first `bytes`, and new bytes follow them. bm_out_file_bytes begins with `bytes`, and the digest
 * and the sync cover the whole file. Call this once for each file of the earlier job that is to be
 * an output, even for a complete one. BM_ERR_FORMAT, with nothing changed: the file is missing,
 * shorter or not a regular file. */
bm_status bm_out_dir_file_again(bm_out_dir *dir, const char *name, uint64_t bytes,
                                bm_out_file **out, bm_error *err);
