/* against_open.h -- the known documents of a job, and what they settle. */
#ifndef BM_JOBS_AGAINST_OPEN_H
#define BM_JOBS_AGAINST_OPEN_H

#include "pipeline/context/job_context.h"

typedef struct bm_against bm_against;

/* Open what settings->pairs.against names, and settle bands, verification and its state from what it is. BM_ERR_USAGE:
 * settings that ask for something else. */
bm_status bm_against_open(bm_settings *settings, bm_against **out, bm_error *err);
void bm_against_close(bm_against *against); /* NULL is fine */
/* Text and sketch of documents that were not signed before. */
void bm_against_settle(const bm_against *against, bm_settings *settings);
/* Were documents that were signed before, and settled text and sketch, cut and signed as the known ones? BM_ERR_FORMAT. */
bm_status bm_against_check(const bm_against *against, const bm_settings *settings, bm_error *err);
/* Signatures become an index, the plan being settled. Of an index nothing. */
bm_status bm_against_load(bm_against *against, bm_job_context *context, bm_error *err);

#endif
