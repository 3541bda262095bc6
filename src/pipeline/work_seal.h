/* work_seal.h -- sealing the stages of a job's work. For work.c. */
#ifndef BM_PIPELINE_WORK_SEAL_H
#define BM_PIPELINE_WORK_SEAL_H

#include <inttypes.h>

#include "pipeline/work.h"

#define BM_WORK_DOCS   BM_OUT_STATE_PREFIX "documents"
#define BM_WORK_SETS   BM_OUT_STATE_PREFIX "sets"
#define BM_WORK_MATCH  BM_OUT_STATE_PREFIX "matches"
#define BM_WORK_BUFFER ((size_t)1 << 20)

/* Lines of the journal; scanned with the same words (64-bit numbers are unsigned long here). */
#define BM_WORK_DOCUMENTS_FORMAT                                                                   \
    "documents\t%" SCNu64 "\t%" SCNu64 "\t%d\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64
#define BM_WORK_SETS_BESIDE    "sets\t." /* sets lie in BM_WORK_SETS; else their path */
#define BM_WORK_MATCHED_FORMAT "matched\t%" SCNu64 "\t%" SCNu64
#define BM_WORK_ENDING         "ending" /* outputs are whole, state is being removed */

/* What bm_docs_save and bm_docs_load work on. */
bm_saved_docs bm_work_docs(const bm_work *work);
/* Seal what is not sealed yet, where it is time. A failure is said, and ends sealing, not the job.
 */
void bm_work_seal_if_due(bm_work *work);
/* The same now, whatever it costs. */
void bm_work_seal_now(bm_work *work);

#endif
