/* filter_ids.h -- the ids of the inputs' documents, as dedup had them. */
#ifndef BM_JOBS_FILTER_IDS_H
#define BM_JOBS_FILTER_IDS_H

#include "pipeline/context/job_context.h"
#include "pipeline/jobs/filter_drops.h"

/* Read the inputs of the job: its document table is filled, and the numbers of the records that are
 * left out, removed by their ids or bad, become rows of the drops. BM_ERR_INPUT: a bad record where
 * none was skipped; a repeated id. */
bm_status bm_filter_ids_read(bm_job_context *context, bm_drops *drops, bm_error *err);

#endif
