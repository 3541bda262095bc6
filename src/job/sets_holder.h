/* SPDX-License-Identifier: Apache-2.0 */
/* sets_holder.h -- marks sets in --temp-dir as owned, so that later jobs can remove unneeded sets.
 *
 * A job that saves its sets in --temp-dir writes a second file beside them, the holder:
 *
 *     .bandmill-HASH-sets      the sets
 *     .bandmill-HASH-holder    names the work directory (OUTPUT.partial) of these sets; locked
 *                              while the job runs
 *
 * Sets are unneeded if no job has locked their holder and the work directory named in the holder
 * was removed, since a job cannot be resumed without its work directory. Any later job with the
 * same --temp-dir removes unneeded sets. If it is uncertain whether sets are needed, they stay: the
 * folder that contained the work directory may not be the same any more (perhaps a file system is
 * not mounted), or it cannot be examined, or the file system has no locks.
 *
 * Failures here never fail a job. If the holder cannot be written or locked, the sets stay until a
 * job with the same output removes them. */
#pragma once

#include <stdbool.h>

typedef struct bm_sets_holder bm_sets_holder;

/* Does the file at `path` begin like a file of sets, or like the sorted runs that a job saves
 * instead of sets if it pairs parts of documents? */
bool bm_sets_are_saved(const char *path);
/* Write and lock the holder of the sets at `sets`, a path that ends with -sets. `work`: the
 * resolved path of the work directory. Returns NULL on failure. */
bm_sets_holder *bm_sets_holder_open(const char *sets, const char *work);
/* Unlock the holder. If `stays`, its file remains for the job that resumes; else it is removed.
 * NULL is fine. */
void bm_sets_holder_close(bm_sets_holder *holder, bool stays);
/* After the sets at `sets` were removed, remove their holder, unless it is locked. */
void bm_sets_holder_remove(const char *sets);
/* Remove all unneeded sets from the directory, with their holders. */
void bm_sets_holder_sweep(const char *temp_dir);
