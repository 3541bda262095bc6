/* pairing.h -- what `dedup` and `pairs` share: load the documents or signatures, find the edges. */
#ifndef BM_JOBS_PAIRING_H
#define BM_JOBS_PAIRING_H

#include "pipeline/corpus/corpus.h"
#include "pipeline/jobs/job_steps.h"
#include "pipeline/jobs/signature_inputs.h"
#include "pipeline/match/match.h"

typedef struct bm_pairing {
    bm_job *job;
    const bm_signature_inputs *signatures; /* NULL: documents */
    bm_corpus corpus;
    bm_match match;
    bool only_groups; /* as in bm_match */
    bool has_text;    /* inputs were read: lines are known, kept documents can be copied */
} bm_pairing;

/* Settle the plan and how pairs are verified; where the inputs are directories that `sign` wrote,
 * open them into *signatures (the caller's, bm_signature_inputs_close), else NULL. */
bm_status bm_pairing_settle(bm_settings *settings, bm_signature_inputs **signatures, bm_error *err);
/* Take the steps of the job up to its edges. `pairing` is {0} but for job, signatures and
 * only_groups; it is to be reset after bm_checkpoint_close, whatever the status. */
bm_status bm_pairing_run(bm_pairing *pairing, bm_error *err);
void bm_pairing_reset(bm_pairing *pairing);

#endif
