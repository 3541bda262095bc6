/* checkpoint_done.h -- a job that is to be resumed and has been done already: its output stands. */
#ifndef BM_CHECKPOINT_CHECKPOINT_DONE_H
#define BM_CHECKPOINT_CHECKPOINT_DONE_H

#include "job/job_context.h"

/* Does the output of this very job stand at its place: the same program, settings and inputs, every
 * file that its report lists? Then *out is the summary of its report, the caller's; else NULL. The
 * inputs are read for their digests, where all else is the same. What is left of the job's work is
 * removed, if it is nobody's. BM_ERR_NOMEM, BM_ERR_CANCELLED. */
bm_status bm_checkpoint_done(const bm_job_context *job, bm_summary **out, bm_error *err);

#endif
