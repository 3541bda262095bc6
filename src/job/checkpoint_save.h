/* checkpoint_save.h -- saving the stages of a job. */
#ifndef BM_CHECKPOINT_CHECKPOINT_SAVE_H
#define BM_CHECKPOINT_CHECKPOINT_SAVE_H

#include "job/checkpoint_documents.h"
#include "job/checkpoint_state.h"

/* What bm_checkpoint_documents_save and bm_checkpoint_documents_load work on. */
bm_checkpoint_documents bm_checkpoint_docs(const bm_checkpoint *checkpoint);
/* Is it time to save? */
bool bm_checkpoint_is_due(const bm_checkpoint *checkpoint);
/* Save what is not saved yet, where it is time. A failure is reported, and ends saving, not the job. */
void bm_checkpoint_save_if_due(bm_checkpoint *checkpoint);
/* The same now, whatever it costs. */
void bm_checkpoint_save_now(bm_checkpoint *checkpoint);
/* The job ends so: save what it has done, where it can go on from there once what was wrong is
 * mended. */
void bm_checkpoint_save_ended(bm_checkpoint *checkpoint, bm_status status);
/* `status` is that of an input which is broken behind what is sealed: note that it may be repaired
 * there (checkpoint_identity.h). */
void bm_checkpoint_note_broken(bm_checkpoint *checkpoint, bm_status status);

#endif
