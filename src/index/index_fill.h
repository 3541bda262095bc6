/* SPDX-License-Identifier: Apache-2.0 */
/* index_fill.h -- what build and add have in common: documents of the job's inputs into an open
 * store. */
#pragma once

#include "index/index_adder.h"
#include "job/job_steps.h"
#include "job/recipe.h"
#include "results/sign_dir.h"

/* index_sources -- the inputs of directories that `sign` wrote, as inputs of a job. */

typedef struct bm_index_sources {
    const bm_manifest **manifests; /* of the directories, borrowed */
    bm_recipe recipe;
} bm_index_sources; /* {0} */

/* index_signed -- directories that `sign` wrote as the documents of an index: their rows, where it
 * keeps signatures; where it keeps sets, the inputs that were signed, which are read again as they
 * were. */

typedef struct bm_index_signed {
    bm_sign_dir **dirs;
    size_t n_open;
    size_t n; /* directories whose rows are the documents; 0: the job's inputs are the documents,
               * which may be the inputs of directories */
    bm_index_sources sources; /* their inputs, which are read again */
} bm_index_signed;            /* {0}; close */

/* Open the inputs if they are such directories, which then decide how documents are signed. They
 * must match the options, or the settings of the index at `path`, which were read before (NULL: a
 * new index). BM_ERR_USAGE: some are and some are not; fields that ask for something else.
 * BM_ERR_FORMAT: they were not signed alike; an input of an index of sets is missing or was changed
 * (all inputs are compared before anything is done). */
bm_status bm_index_signed_open(bm_settings *settings, const char *path, bm_index_signed *out,
                               bm_error *err);
void bm_index_signed_close(bm_index_signed *dirs);

typedef struct bm_index_fill {
    bm_job *job;
    bm_store *store;
    const bm_index_signed *dirs; /* instead of documents; NULL, or n 0: none */
    bool commits; /* while it reads, with a note of its progress; else once, at the end */
} bm_index_fill;

/* Inputs and devices are open, unless documents are followed or come from directories. Reads all,
 * adds, commits, and updates the job's counts, also after a failure. */
bm_status bm_index_fill_run(const bm_index_fill *fill, bm_error *err);
/* Count the documents of the index, for the report. */
bm_status bm_index_count(bm_store *store, bm_job_context *job, bm_error *err);
