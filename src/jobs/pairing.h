/* SPDX-License-Identifier: Apache-2.0 */
/* pairing.h -- what `dedup` and `pairs` share: they load documents or signatures, and find the
 * edges. */
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
    bool only_groups;  /* the match setting of that name */
    bool only_stars;   /* settings.stars of the match is set */
    bm_keep_rank rank; /* rank of each document, once all are read */
    bool has_text;     /* inputs were read: lines are known, and kept documents can be copied */
} bm_pairing;

/* The last step of a command: writes results made from the edges, and finishes the job
 * (bm_job_finish). */
typedef bm_status bm_pairing_end_fn(const bm_pairing *pairing, bm_error *err);

/* Make groups of the matches, as the settings say. */
bm_status bm_pairing_group(const bm_pairing *pairing, bm_grouping *out, bm_error *err);

/* For documents that were not signed before: resolve the plan, the verification, and the number of
 * words of a signature to compute. */
bm_status bm_pairing_resolve(bm_settings *settings, bm_error *err);
/* Run a job that pairs documents or signatures. `settings` are made from the command's options. The
 * plan and the verification are resolved here; if the inputs are directories that `sign` wrote,
 * from their manifests. */
bm_status bm_pairing_job(bm_settings *settings, bm_pairing_end_fn *end, bm_summary **out,
                         bm_error *err);
