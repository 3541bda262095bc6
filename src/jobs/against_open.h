/* against_open.h -- the known documents of a job, and what they settle. */
#ifndef BM_JOBS_AGAINST_OPEN_H
#define BM_JOBS_AGAINST_OPEN_H

#include "job/job_context.h"

typedef struct bm_against bm_against;

/* Open what settings->pairs.against names, and settle bands, verification and its state from what it is. Verification
 * stays AUTO where signatures are known whose inputs are all there: it may be exact. BM_ERR_USAGE: settings that ask
 * for something else; an output that is an input of the signatures. BM_ERR_FORMAT: exact verification was asked
 * for, and an input is missing or has another size. */
bm_status bm_against_open(bm_settings *settings, bm_against **out, bm_error *err);
void bm_against_close(bm_against *against); /* NULL is fine */
/* Text and sketch of documents that were not signed before. */
void bm_against_settle(const bm_against *against, bm_settings *settings);
/* Were documents that were signed before, and settled text and sketch, cut and signed as the known ones? BM_ERR_FORMAT. */
bm_status bm_against_check(const bm_against *against, const bm_settings *settings, bm_error *err);
/* The job ended with `status`, as *why says: was it because an input of the known ones is not what it was, and is
 * verification by signature now, since nobody has asked for it? Then the job may be run again. */
bool bm_against_give_way(bm_against *against, bm_settings *settings, bm_status status,
                         const bm_error *why);
/* Say what was settled, where nobody asked for it. */
void bm_against_say(const bm_against *against, bm_meter *meter);

#endif
