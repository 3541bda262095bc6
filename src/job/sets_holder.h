/* SPDX-License-Identifier: Apache-2.0 */
/* sets_holder.h -- the owner of sets in --temp-dir, and whether a job still needs them.
 *
 * A job that saves its sets in --temp-dir puts a file beside them,
 *
 *     .bandmill-HASH-sets      the sets
 *     .bandmill-HASH-holder    the work directory (OUTPUT.partial) that they belong to; locked
 *                              while the job lives
 *
 * so that any later job which uses the directory can remove what nobody needs: sets with an
 * unlocked holder and without their work directory, since no job can resume without it. They stay
 * where that cannot be told: the folder that had the work directory is another one now (a file
 * system that is not mounted), or cannot be looked at, or there are no locks here.
 *
 * Nothing here fails a job: where the holder cannot be written or locked, the sets only stay until
 * a job of the same output removes them. */
#pragma once

#include <stdbool.h>

typedef struct bm_sets_holder bm_sets_holder;

/* Hold the sets at `sets`, a path that ends as above, for the work directory `work`, a resolved
 * path. NULL: it was not possible. */
bm_sets_holder *bm_sets_holder_open(const char *sets, const char *work);
/* Let go; `stays`: the holder's file stays, for whoever resumes the job. NULL is fine. */
void bm_sets_holder_close(bm_sets_holder *holder, bool stays);
/* The sets at `sets` are gone: remove their holder too, unless somebody has it locked. */
void bm_sets_holder_remove(const char *sets);
/* Remove from the directory all sets that nobody needs, with their holders. */
void bm_sets_holder_sweep(const char *temp_dir);
