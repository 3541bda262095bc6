/* signature_ids.h -- what the ids of a directory that `sign --duplicate-ids number` wrote were in its
 * inputs: X for an X#N that it numbered.
 *
 * Several directories give the ids that all their inputs would have given at once, so that whoever
 * reads these inputs again (filter, explain) meets the same. Which ids were numbered is not written
 * down: an X#N is taken for one where X stands before it and N is the number that it would have
 * got. An input whose own id looks like that cannot be told from it (job_filter.c refuses it). */
#ifndef BM_JOBS_SIGNATURE_IDS_H
#define BM_JOBS_SIGNATURE_IDS_H

#include "results/sign_dir.h"
#include "model/id_set.h"
#include "model/next_numbers.h"

typedef struct bm_signature_ids {
    bm_id_set known;      /* the ids X#N of the directory, and each such X */
    bool *seen;           /* of each */
    bm_next_numbers next; /* of each X that was repeated */
    bm_buf scratch;
} bm_signature_ids; /* {0} is of a directory without such ids */

/* Reads all ids of the directory. BM_ERR_IO, BM_ERR_FORMAT, BM_ERR_NOMEM. */
bm_status bm_signature_ids_load(const bm_sign_dir *dir, bm_signature_ids *out, bm_error *err);
/* *original: of the next id, in order; a view of it. BM_ERR_NOMEM. */
bm_status bm_signature_ids_original(bm_signature_ids *ids, bm_str id, bm_str *original,
                                    bm_error *err);
void bm_signature_ids_reset(bm_signature_ids *ids);

#endif
