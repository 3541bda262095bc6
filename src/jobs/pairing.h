/* SPDX-License-Identifier: Apache-2.0 */
/* pairing.h -- what `dedup` and `pairs` share: load the documents or signatures, find the edges. */
#pragma once

#include "corpus/corpus.h"
#include "job/job_steps.h"
#include "jobs/pairing_inputs.h"
#include "match/match.h"

typedef struct bm_pairing {
    bm_job *job;
    bm_signature_inputs *signatures; /* NULL: documents */
    bm_against *against;             /* NULL: no known documents */
    bm_known known;
    bm_corpus corpus;
    bm_match match;
    bool only_groups;  /* see bm_match */
    bool only_stars;   /* see bm_match: settings.stars */
    bm_keep_rank rank; /* ranks the documents, once they are read */
    bool has_text;     /* inputs were read: lines are known, kept documents can be copied */
} bm_pairing;

/* The last step of a command. It writes results made from the edges, and finishes the job
 * (bm_job_finish). */
typedef bm_status bm_pairing_end_fn(const bm_pairing *pairing, bm_error *err);

/* Resolve the plan and words of documents that were not signed before. */
bm_status bm_pairing_resolve(bm_settings *settings, bm_error *err);
/* Run a job that pairs documents or signatures. `settings` come from its options. The plan and the
 * verification are resolved here, from the manifests if the inputs are directories that `sign`
 * wrote. */
bm_status bm_pairing_job(bm_settings *settings, bm_pairing_end_fn *end, bm_summary **out,
                         bm_error *err);
