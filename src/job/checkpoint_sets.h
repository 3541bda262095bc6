/* checkpoint_sets.h -- where the file of sets lies: in the work directory, or in --temp-dir.
 *
 * A path in --temp-dir is believed only if all of these say so: the journal, the marker of the work
 * directory, which lists it, its name, which is that of this work directory, and the file itself,
 * which begins as such a file does. So neither a journal that somebody else wrote nor a name that
 * somebody else chose can lead anywhere else. */
#ifndef BM_CHECKPOINT_CHECKPOINT_SETS_H
#define BM_CHECKPOINT_CHECKPOINT_SETS_H

#include "job/checkpoint_state.h"

/* Fill checkpoint->sets_path for a job that begins. */
bm_status bm_checkpoint_sets_find(bm_checkpoint *checkpoint, bm_error *err);
/* List that path in the marker, before the file is made; and the line of the journal that names it. */
bm_status bm_checkpoint_sets_list(bm_checkpoint *checkpoint, bm_error *err);
bm_status bm_checkpoint_sets_add_line(bm_checkpoint *checkpoint, bm_error *err);
/* A line of an earlier job's journal: where it names a file of sets, that is checkpoint->sets_path
 * now. BM_ERR_FORMAT: it names something that is not this work directory's. */
bm_status bm_checkpoint_sets_take(bm_checkpoint *checkpoint, const char *line, bm_error *err);
/* Remove the file of sets. */
void bm_checkpoint_sets_remove(const bm_checkpoint *checkpoint);
/* Remove the files in --temp-dir that lines of the journal name, of this work directory. */
void bm_checkpoint_sets_remove_named(const bm_checkpoint *checkpoint, const bm_journal *journal);
/* Remove what an earlier job for this output left at checkpoint->sets_path in --temp-dir. BM_ERR_USAGE
 * where it is no file of ours. */
bm_status bm_checkpoint_sets_remove_left(const bm_checkpoint *checkpoint, bm_error *err);

#endif
