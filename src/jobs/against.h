/* against.h -- the documents of a job against those that are known already: of an index, or of a directory that
 * `sign` wrote.
 *
 * Of the known ones only what is a candidate is read: band keys are looked up in the index, and the sets (or words) of those
 * found there are compared. A directory of signatures becomes an index in a file without a name first
 * (against_signed.h), for which sets of candidates are made of its inputs again. */
#ifndef BM_JOBS_AGAINST_H
#define BM_JOBS_AGAINST_H

#include "jobs/against_open.h"
#include "match/grouping.h"
#include "match/known.h"

/* All documents of the corpus, before bm_corpus_end_adding: which are known. `known` is filled, with the ids of those found. */
bm_status bm_against_find(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                          bm_known *known, bm_error *err);
/* The similarities that grouping left open: of chained documents to the known one that is kept for them. */
bm_status bm_against_compare(bm_against *against, const bm_match *match, bm_grouping *grouping,
                             bm_error *err);

#endif
