/* query_documents.h -- documents of the inputs, looked up by the thousand, and their answers as rows. */
#ifndef BM_QUERY_DOCUMENTS_H
#define BM_QUERY_DOCUMENTS_H

#include "job/job_context.h"
#include "index/answer_rows.h"

typedef struct bm_query_documents {
    bm_job_context *job; /* its inputs and devices are open */
    const bm_search_cfg *search;
    bm_answer_rows *rows;
    uint64_t gather; /* bytes of each of two batches */
} bm_query_documents;

/* Read all, look up, write. What was done is in the job's counts, also after a failure. */
bm_status bm_query_documents_run(const bm_query_documents *query, bm_error *err);

#endif
