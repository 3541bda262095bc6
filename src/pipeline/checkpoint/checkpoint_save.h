/* checkpoint_save.h -- saving the stages of a job. */
#ifndef BM_CHECKPOINT_CHECKPOINT_SAVE_H
#define BM_CHECKPOINT_CHECKPOINT_SAVE_H

#include "pipeline/checkpoint/checkpoint_documents.h"
#include "pipeline/checkpoint/checkpoint_state.h"

/* What bm_checkpoint_documents_save and bm_checkpoint_documents_load work on. */
bm_checkpoint_documents bm_checkpoint_docs(const bm_checkpoint *checkpoint);
/* Save what is not saved yet, where it is time. A failure is reported, and ends saving, not the job. */
void bm_checkpoint_save_if_due(bm_checkpoint *checkpoint);
/* The same now, whatever it costs. */
void bm_checkpoint_save_now(bm_checkpoint *checkpoint);

#endif
