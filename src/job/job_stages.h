/* job_stages.h -- the stages of a job: their names, and what share of the job each may take. */
#ifndef BM_CONTEXT_JOB_STAGES_H
#define BM_CONTEXT_JOB_STAGES_H

#include "job/job_context.h"

#define BM_STAGE_LOAD    "load" /* signatures, or what an interrupted job has left */
#define BM_STAGE_READ    "read"
#define BM_STAGE_COUNT   "count" /* in how many documents each shingle stands */
#define BM_STAGE_SIGN    "sign"
#define BM_STAGE_KNOWN   "known" /* documents are compared with those that are known */
#define BM_STAGE_MATCH   "match"
#define BM_STAGE_COMPARE "compare" /* the last part of matching all pairs */
#define BM_STAGE_GROUP   "group"
#define BM_STAGE_WRITE   "write"
#define BM_STAGE_COPY    "copy"
#define BM_STAGE_SEAL    "seal"
#define BM_STAGE_QUERY   "query"

/* What a job begins with. */
typedef enum bm_job_start {
    BM_START_DOCUMENTS,
    BM_START_SIGNATURES,           /* and nothing else */
    BM_START_SIGNATURES_AND_TEXTS, /* which are read again */
    BM_START_RESUMED,              /* documents, some of which an interrupted job has read */
    BM_START_RESUMED_WHOLE         /* and all of which it has */
} bm_job_start;

/* Say to the meter what stages there will be, once inputs and settings are known. */
void bm_job_context_plan(bm_job_context *job, bm_job_start start);

#endif
