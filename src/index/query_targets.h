/* query_targets.h -- an index of documents that is made for one call, and of which nothing is left. */
#ifndef BM_QUERY_TARGETS_H
#define BM_QUERY_TARGETS_H

#include "job/job_context.h"
#include "index/query_source.h"

/* Settle the plan of the job's settings, `settings`, read their targets, and put them into an index without a
 * name, as `index build` would. */
bm_status bm_query_targets_open(bm_job_context *job, bm_settings *settings, bm_query_source *out,
                                bm_error *err);

#endif
