/* kept_pass.h -- the inputs a second time, to copy the records that are kept, byte for byte. */
#ifndef BM_PIPELINE_KEPT_PASS_H
#define BM_PIPELINE_KEPT_PASS_H

#include "pipeline/run.h"

/* dropped[i] not 0: document i is not kept; records that were skipped are neither. Formats without
 * records of their own get kept_ids.txt. The input must be what it was: BM_ERR_INPUT where it
 * changed in between. */
bm_status bm_kept_pass(bm_run *run, const uint8_t *dropped, bool has_text, bm_out_dir *dir,
                       bm_error *err);

#endif
