/* SPDX-License-Identifier: Apache-2.0 */
/* index_fill.h -- adds the documents of a job's inputs to an open store. `index build` and `index
 * add` use it. */
#pragma once

#include "index/index_adder.h"
#include "job/job_steps.h"
#include "job/recipe.h"
#include "results/sign_dir.h"

/* index_sources -- lets a job read the inputs from which `sign` made its directories. */

typedef struct bm_index_sources {
    const bm_manifest **manifests; /* the manifest of each directory; borrowed */
    bm_recipe recipe;
} bm_index_sources; /* {0} */

/* index_signed -- adds directories written by `sign` to an index. If the index keeps signatures,
 * the rows of the directories are used. If it keeps sets, the inputs that were signed are read
 * again, in the same way. */

typedef struct bm_index_signed {
    bm_sign_dir **dirs;
    size_t n_open;
    /* Number of directories whose rows are used. 0: the job reads texts instead. If the index keeps
     * sets, these texts may be the inputs from which the directories were made. */
    size_t n;
    bm_index_sources sources; /* the inputs to read again */
} bm_index_signed;            /* {0}; close */

/* Open the inputs if they are directories written by `sign`; else *out becomes {0}. The manifests
 * of the directories decide how documents are signed. They must match the options. If `path` is not
 * NULL, they must match the settings that were already read from the index at `path`. BM_ERR_USAGE:
 * only some of the inputs are signed directories, options contradict them, or an interrupted add is
 * to be resumed. BM_ERR_FORMAT: the directories were not all signed alike. For an index of sets,
 * all signed inputs are checked too; BM_ERR_FORMAT: one is missing or has changed. */
bm_status bm_index_signed_open(bm_settings *settings, const char *path, bm_index_signed *out,
                               bm_error *err);
void bm_index_signed_close(bm_index_signed *dirs);

typedef struct bm_index_fill {
    bm_job *job;
    bm_store *store;
    const bm_index_signed *dirs; /* signed directories, used instead of inputs; NULL, or n 0: use
                                  * inputs */
    bool commits; /* true: commit also while reading, and note the progress; false: commit once, at
                     the end */
} bm_index_fill;

/* Read and add all documents, and commit. The job's counts are updated even after a failure. The
 * job's inputs and devices must be open, unless the job follows standard input or uses the rows of
 * signed directories. */
bm_status bm_index_fill_run(const bm_index_fill *fill, bm_error *err);
/* Count the documents of the index, and store the number among the job's counts for the report. */
bm_status bm_index_count(bm_store *store, bm_job_context *job, bm_error *err);
