/* work_seal.h -- sealing the stages of a job's work. For work.c. */
#ifndef BM_PIPELINE_WORK_SEAL_H
#define BM_PIPELINE_WORK_SEAL_H

#include "pipeline/work.h"

#define BM_WORK_DOCS   BM_OUT_STATE_PREFIX "documents"
#define BM_WORK_SETS   BM_OUT_STATE_PREFIX "sets"
#define BM_WORK_MATCH  BM_OUT_STATE_PREFIX "matches"
#define BM_WORK_BUFFER ((size_t)1 << 20)

/* Lines of the journal, beside those of work_identity.h and work_line.h. */
#define BM_WORK_SETS_AT     "sets\t"            /* and their path, escaped as in a TSV file */
#define BM_WORK_SETS_BESIDE BM_WORK_SETS_AT "." /* or this: they lie in BM_WORK_SETS */
#define BM_WORK_ENDING      "ending"            /* outputs are whole, state is being removed */

/* What bm_docs_save and bm_docs_load work on. */
bm_saved_docs bm_work_docs(const bm_work *work);
/* Seal what is not sealed yet, where it is time. A failure is said, and ends sealing, not the job.
 */
void bm_work_seal_if_due(bm_work *work);
/* The same now, whatever it costs. */
void bm_work_seal_now(bm_work *work);

#endif
