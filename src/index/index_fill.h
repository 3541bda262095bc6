/* index_fill.h -- what build and add have in common: documents of the job's inputs into an open store. */
#ifndef BM_INDEX_INDEX_FILL_H
#define BM_INDEX_INDEX_FILL_H

#include "index/index_signed.h"
#include "job/job_steps.h"

typedef struct bm_index_fill {
    bm_job *job;
    bm_store *store;
    const bm_index_signed *dirs; /* instead of documents; NULL, or n 0: none */
    bool commits; /* as it goes, with a note how far it came; else once, at the end */
} bm_index_fill;

/* Inputs and devices are open, where they are documents that are not followed. Reads all, adds, commits; what was done is added to the job's counts, also
 * after a failure. */
bm_status bm_index_fill_run(const bm_index_fill *fill, bm_error *err);
/* What the index holds now, for the report. */
bm_status bm_index_count(bm_store *store, bm_job_context *job, bm_error *err);

#endif
