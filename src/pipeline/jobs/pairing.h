/* pairing.h -- what `dedup` and `pairs` share: load the documents or signatures, find the edges. */
#ifndef BM_JOBS_PAIRING_H
#define BM_JOBS_PAIRING_H

#include "pipeline/corpus/corpus.h"
#include "pipeline/match/match.h"
#include "pipeline/context/job_context.h"
#include "pipeline/checkpoint/checkpoint.h"

typedef struct bm_pairing {
    bm_corpus corpus;
    bm_match match;
    bm_checkpoint
        *checkpoint; /* filled in by the caller, who closes it; NULL: the job has no directory */
    bool has_text;   /* the inputs were read: lines are known, kept documents can be copied */
    struct bm_pairing_dirs
        *dirs; /* where the input is signatures: what the run's job points into */
} bm_pairing;

/* Open inputs (documents, or directories that sign wrote), checkpoint, devices; fill the corpus; match.
 * `out` is {0} but for `checkpoint`. `only_groups` as in bm_match. */
bm_status bm_pairing_run(bm_job_context *run, bool twice, bool output_is_dir, bool only_groups,
                         bm_pairing *out, bm_error *err);
void bm_pairing_reset(bm_pairing *pairing);

#endif
