/* against_sets.h -- sets of known documents, made again of the inputs that were signed.
 *
 * Only inputs that hold marked documents are opened, each is read to its end, and only the sets of marked documents
 * are kept: in a temporary file, one behind another, in their order. */
#ifndef BM_JOBS_AGAINST_SETS_H
#define BM_JOBS_AGAINST_SETS_H

#include "corpus/corpus.h"
#include "jobs/against_open.h"
#include "jobs/row_marks.h"
#include "spill/spill_file.h"

typedef struct bm_marked_sets {
    bm_row_marks rows;
    bm_spill_file *
        file; /* filled: a record for each of the rows, its n_shingles hashes in any order; bm_spill_close */
} bm_marked_sets;

/* The documents of the job, which wait in `corpus`, give way where memory is short. BM_ERR_FORMAT, and against->changed:
 * an input is not the one that was signed. */
bm_status bm_against_sets(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                          bm_marked_sets *sets, bm_error *err);

#endif
