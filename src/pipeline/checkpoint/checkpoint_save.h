/* checkpoint_save.h -- sealing the stages of a job's checkpoint. For checkpoint.c. */
#ifndef BM_CHECKPOINT_CHECKPOINT_SAVE_H
#define BM_CHECKPOINT_CHECKPOINT_SAVE_H

#include "pipeline/checkpoint/checkpoint.h"

#define BM_CHECKPOINT_DOCS   BM_OUT_STATE_PREFIX "documents"
#define BM_CHECKPOINT_SETS   BM_OUT_STATE_PREFIX "sets"
#define BM_CHECKPOINT_MATCH  BM_OUT_STATE_PREFIX "matches"
#define BM_CHECKPOINT_BUFFER ((size_t)1 << 20)

/* Lines of the journal, beside those of checkpoint_identity.h and checkpoint_line.h. */
#define BM_CHECKPOINT_SETS_AT "sets\t" /* and their path, escaped as in a TSV file */
#define BM_CHECKPOINT_SETS_BESIDE                                                                  \
    BM_CHECKPOINT_SETS_AT "."         /* or this: they lie in BM_CHECKPOINT_SETS */
#define BM_CHECKPOINT_ENDING "ending" /* outputs are whole, state is being removed */

/* What bm_checkpoint_documents_save and bm_checkpoint_documents_load checkpoint on. */
bm_checkpoint_documents bm_checkpoint_docs(const bm_checkpoint *checkpoint);
/* Seal what is not saved yet, where it is time. A failure is said, and ends sealing, not the job.
 */
void bm_checkpoint_save_if_due(bm_checkpoint *checkpoint);
/* The same now, whatever it costs. */
void bm_checkpoint_save_now(bm_checkpoint *checkpoint);

#endif
