/* pairing_signatures.h -- directories that `sign` wrote as the input of dedup and pairs. */
#ifndef BM_JOBS_PAIRING_SIGNATURES_H
#define BM_JOBS_PAIRING_SIGNATURES_H

#include "pipeline/jobs/pairing.h"

typedef struct bm_pairing_dirs bm_pairing_dirs;
void bm_pairing_dirs_free(bm_pairing_dirs *dirs); /* NULL is fine */

/* Are the inputs such directories? Some are and some are not: BM_ERR_USAGE. */
bm_status bm_pairing_is_signatures(const bm_job *job, bool *out, bm_error *err);
/* Load words and ids, compute the keys; under exact verification read the texts again from the
 * inputs that the manifests name, after checking that they have not changed (BM_ERR_FORMAT).
 * Provenance that differs: BM_ERR_FORMAT. */
bm_status bm_pairing_load_signatures(bm_job_context *run, bool output_is_dir, bm_pairing *out,
                                     bm_error *err);

#endif
