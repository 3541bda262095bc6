/* SPDX-License-Identifier: Apache-2.0 */
/* sets_holder.h -- marks sets in --temp-dir as owned, so that unneeded ones can be removed.
 *
 * A job that saves its sets in --temp-dir puts a file beside them,
 *
 *     .bandmill-HASH-sets      the sets
 *     .bandmill-HASH-holder    the work directory (OUTPUT.partial) that they belong to; locked
 *                              while the job lives
 *
 * so that any later job that uses the directory can remove unneeded sets: those with an unlocked
 * holder whose work directory is gone, since no job can resume without it. Sets stay if this cannot
 * be determined: the folder of the work directory is not the same (a file system is not mounted) or
 * cannot be examined, or the file system has no locks.
 *
 * Failures here never fail a job: if the holder cannot be written or locked, the sets stay until a
 * job with the same output removes them. */
#pragma once

#include <stdbool.h>

typedef struct bm_sets_holder bm_sets_holder;

/* Hold the sets at `sets`, a path that ends as above, for the work directory `work`, a resolved
 * path. NULL: they cannot be held. */
bm_sets_holder *bm_sets_holder_open(const char *sets, const char *work);
/* Release the sets; `stays`: the holder's file stays, for the job that resumes. NULL is fine. */
void bm_sets_holder_close(bm_sets_holder *holder, bool stays);
/* Call after the sets at `sets` were removed: removes their holder too, unless it is locked. */
void bm_sets_holder_remove(const char *sets);
/* Remove all unneeded sets from the directory, with their holders. */
void bm_sets_holder_sweep(const char *temp_dir);
