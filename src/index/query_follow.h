/* query_follow.h -- a line in, an answer out: queries of a program that waits for each. */
#ifndef BM_QUERY_FOLLOW_H
#define BM_QUERY_FOLLOW_H

#include "job/job_context.h"
#include "index/answer_rows.h"
#include "index/query_source.h"

typedef struct bm_follow {
    bm_job_context *job;
    bm_query_source *source;
    bm_search_cfg search; /* view and pool are set here */
    bm_answer_rows *rows;
    bm_search_result result; /* {0}; the caller's to reset */
} bm_follow;

/* Until standard input ends (BM_OK), or nobody takes the answers (BM_ERR_PIPE). */
bm_status bm_query_follow(bm_follow *follow, bm_error *err);

#endif
