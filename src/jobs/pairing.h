/* SPDX-License-Identifier: Apache-2.0 */
/* pairing.h -- the common part of `dedup` and `pairs`: loading documents or signatures, and finding
 * the edges. */
#pragma once

#include "corpus/corpus.h"
#include "job/job_steps.h"
#include "jobs/pairing_inputs.h"
#include "match/match.h"

typedef struct bm_pairing {
    bm_job *job;
    bm_signature_inputs *signatures; /* NULL: the inputs are documents */
    bm_against *against;             /* NULL: no known documents */
    bm_known known;
    bm_corpus corpus;
    bm_match match;
    bool only_groups;  /* match.settings.only_groups */
    bool only_stars;   /* match.settings.stars is set */
    bm_keep_rank rank; /* rank of each document, once all documents are read */
    bool has_text;     /* the inputs were read, so lines are known, and records can be copied */
} bm_pairing;

/* The last step of a command. Writes the results from the edges, and finishes the job
 * (bm_job_finish). */
typedef bm_status bm_pairing_end_fn(const bm_pairing *pairing, bm_error *err);

/* Make groups from the matches, according to the settings. */
bm_status bm_pairing_group(const bm_pairing *pairing, bm_grouping *out, bm_error *err);

/* For a job whose inputs are documents, not signatures: resolve the plan, the verification, and the
 * number of words to compute of each signature. Does nothing if the only inputs are band keys. */
bm_status bm_pairing_resolve(bm_settings *settings, bm_error *err);
/* Run a job that pairs documents or signatures. `settings` are made from the command's options. The
 * plan and the verification are resolved here. If the inputs are directories that `sign` wrote,
 * their manifests determine them. */
bm_status bm_pairing_job(bm_settings *settings, bm_pairing_end_fn *end, bm_summary **out,
                         bm_error *err);
