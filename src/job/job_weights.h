/* job_weights.h -- the pass over the inputs that weights need: in how many documents each shingle
 * stands.
 *
 * It comes before the documents are read for what the job is for, by all threads, and reads the inputs
 * in the same way; an input that is another one the second time ends the job (input/input_bytes.c). */
#ifndef BM_CONTEXT_JOB_WEIGHTS_H
#define BM_CONTEXT_JOB_WEIGHTS_H

#include "job/job_context.h"

/* Once the inputs are open: count, and keep the table in the job; from then on bm_job_context_ingest
 * weighs documents. What was counted goes to settings->weighed; where that already has a digest, which a
 * manifest named, it must be the same: BM_ERR_FORMAT. Nothing happens without weights. */
bm_status bm_job_weights_count(bm_job_context *job, bm_error *err);

#endif
