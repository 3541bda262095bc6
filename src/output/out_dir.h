/* SPDX-License-Identifier: Apache-2.0 */
/* out_dir.h -- a directory of outputs that appears whole or not at all.
 *
 * Its files are written in a work directory beside the target, TARGET.partial, and synced there;
 * then one rename puts them in place. The job holds that directory, and the marker in it, locked
 * from before its first file to after its last rename: a second job for the same target gets
 * BM_ERR_LOCKED. The list in the marker (out_target.h) distinguishes the remains of a killed job
 * from other people's files. Missing folders above the target are made. Without commit, close
 * removes everything that was begun, including those folders.
 *
 * A work directory can also outlive its job, to be resumed. The job's state is stored in files
 * beside the outputs (bm_out_dir_state_path), above all the journal. After bm_out_dir_preserve,
 * close leaves everything; a killed job leaves it anyway. bm_out_dir_open_again takes over a work
 * directory that has a journal. No file of state ever reaches the target.
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
 * TARGET.partial holds anything that is not ours, or the saved work of an interrupted job, which
 * only BM_OUT_REPLACE discards. BM_ERR_LOCKED: another job is writing this output. BM_ERR_IO. */
bm_status bm_out_dir_open(const char *target, bm_out_existing existing, bm_out_dir **out,
                          bm_error *err);
/* The path of the work directory, until close. */
const char *bm_out_dir_work(const bm_out_dir *dir);
/* Create a file. `name` may have slashes: the folders are made. */
bm_status bm_out_dir_file(bm_out_dir *dir, const char *name, bm_out_file **out, bm_error *err);
/* Announce files that will be created, including files of state: they are listed with one sync,
 * instead of one each. */
bm_status bm_out_dir_expect(bm_out_dir *dir, const char *const *names, size_t n, bm_error *err);
/* List `names`, which another library will create in *out, a folder (the caller's to free). They
 * are neither digested nor synced here. */
bm_status bm_out_dir_reserve(bm_out_dir *dir, const char *const *names, size_t n, char **out,
                             bm_error *err);
/* Digest and sync all closed files. Call it once: a file closed later (the report, which lists the
 * digests) is synced by commit, and not digested. */
bm_status bm_out_dir_finish(bm_out_dir *dir, bm_error *err);
/* Give finish a meter and threads: the meter counts each file twice, when it is digested and when
 * it is synced; the pool's threads compute the digests. Borrowed; each may be NULL. */
void bm_out_dir_use(bm_out_dir *dir, bm_meter *meter, bm_pool *pool);
/* After finish: {"name": "SHA-256", …} sorted by name. The directory's own, until close. */
bm_status bm_out_dir_digests(bm_out_dir *dir, const char **json, bm_error *err);
/* The same with XXH3 128. */
bm_status bm_out_dir_digests_xxh3(bm_out_dir *dir, const char **json, bm_error *err);
/* The same for files of several pieces, each with an array of the pieces' XXH3 128; "{}": there are
 * none. */
bm_status bm_out_dir_digests_pieces(bm_out_dir *dir, const char **json, bm_error *err);
/* Check that the work directory is still the one that this job holds. BM_ERR_IO: it was removed,
 * moved, or made anew by somebody else. */
bm_status bm_out_dir_check_claim(const bm_out_dir *dir, bm_error *err);
/* The first steps of commit, for a caller with work to do in between: puts all files on the disk
 * and checks that the target may still be written. */
bm_status bm_out_dir_ready(bm_out_dir *dir, bm_error *err);
/* Rename the outputs to the target; only close may follow. */
bm_status bm_out_dir_commit(bm_out_dir *dir, bm_error *err);
/* Has the rename been done? It has even if commit failed, if only the sync failed. */
bool bm_out_dir_is_committed(const bm_out_dir *dir);
/* Without commit: remove the work directory, or leave it (bm_out_dir_preserve). Abort files that
 * are still open first. NULL is fine. */
void bm_out_dir_close(bm_out_dir *dir);

/* --- a directory that outlives its job --- */

/* Like bm_out_dir_open, but a work directory that an earlier job left with a journal is locked and
 * taken over unchanged: *found is true, and the directory is preserved until bm_out_dir_preserve
 * changes that. Any other work directory is cleared: *found is false. */
bm_status bm_out_dir_open_again(const char *target, bm_out_existing existing, bm_out_dir **out,
                                bool *found, bm_error *err);
/* Should close (without commit) and bm_out_file_abort leave the files for bm_out_dir_open_again?
 * Initially not. */
void bm_out_dir_preserve(bm_out_dir *dir, bool preserve);
/* *out: the path of a file of state, the caller's to free. The name is listed; it begins with
 * BM_OUT_STATE_PREFIX, has no slash and is not the marker's (else BM_ERR_INTERNAL). The caller
 * opens, syncs and closes the file. */
bm_status bm_out_dir_state_path(bm_out_dir *dir, const char *name, char **out, bm_error *err);
/* The descriptor of the work directory, until close. Files of state are opened in it by name, which
 * stays safe if another directory takes its path. */
int bm_out_dir_folder(const bm_out_dir *dir);
/* The folder that contains the work directory and the target, until close. */
const char *bm_out_dir_beside(const bm_out_dir *dir);
/* List a file that the job makes elsewhere, by its absolute path. Nothing here removes it, but a
 * later job that finds it can check whether a job made it. */
bm_status bm_out_dir_list_outside(bm_out_dir *dir, const char *path, bm_error *err);
bool bm_out_dir_lists_outside(const bm_out_dir *dir, const char *path);
/* Remove all files of state except the marker, the journal first: the job can no longer be resumed.
 * Commit does this too. */
bm_status bm_out_dir_drop_state(const bm_out_dir *dir, bm_error *err);
/* After taking over, before anything is written: remove all listed outputs except those named in
 * `stay` (names in the directory; a folder stays with all its contents). Files of state stay. On
 * failure some outputs are removed. */
bm_status bm_out_dir_clear(bm_out_dir *dir, const char *const *stay, size_t n_stay, bm_error *err);
/* After taking over: cut an existing file to its first `bytes` and continue after them.
 * bm_out_file_bytes begins with `bytes`; digest and sync cover the whole file. Call it once for
 * each file of the earlier job that is to be an output, even a complete one. BM_ERR_FORMAT, with
 * nothing changed: the file is missing, shorter or not a regular file. */
bm_status bm_out_dir_file_again(bm_out_dir *dir, const char *name, uint64_t bytes,
                                bm_out_file **out, bm_error *err);
