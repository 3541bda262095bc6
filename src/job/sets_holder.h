/* SPDX-License-Identifier: Apache-2.0 */
/* sets_holder.h -- marks sets in --temp-dir as owned, so that later jobs can remove unneeded ones.
 *
 * A job that saves its sets in --temp-dir writes a second file beside them, the holder:
 *
 *     .bandmill-HASH-sets      the sets
 *     .bandmill-HASH-holder    names the work directory (OUTPUT.partial) of these sets; locked
 *                              while the job runs
 *
 * Sets are unneeded if their holder is not locked and the work directory that it names is gone,
 * since no job can be resumed without its work directory. Any later job that uses the same
 * --temp-dir removes unneeded sets. Sets stay if this cannot be determined: the folder that
 * contained the work directory is not the same any more (perhaps a file system is not mounted) or
 * cannot be examined, or the file system has no locks.
 *
 * Failures here never fail a job: if the holder cannot be written or locked, the sets stay until a
 * job with the same output removes them. */
#pragma once

#include <stdbool.h>

typedef struct bm_sets_holder bm_sets_holder;

/* Does the file begin like a file of sets, or like the sorted runs that a job of parts of documents
 * saves in its place? */
bool bm_sets_are_saved(const char *path);
/* Write and lock the holder of the sets at `sets`, a path that ends like the first name above.
 * `work`: the resolved path of the work directory. Returns NULL if this is not possible. */
bm_sets_holder *bm_sets_holder_open(const char *sets, const char *work);
/* Unlock the holder. If `stays`, its file remains, for the job that resumes; else it is removed.
 * NULL is fine. */
void bm_sets_holder_close(bm_sets_holder *holder, bool stays);
/* Remove the holder of the sets at `sets`, which were removed before, unless it is locked. */
void bm_sets_holder_remove(const char *sets);
/* Remove all unneeded sets from the directory, with their holders. */
void bm_sets_holder_sweep(const char *temp_dir);
