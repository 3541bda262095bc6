/* out_replace.h -- the new output takes the place of an earlier one. */
#ifndef BM_IO_OUTPUT_OUT_REPLACE_H
#define BM_IO_OUTPUT_OUT_REPLACE_H

#include "output/out_dir_lock.h"
#include "output/out_target.h"

/* Exchange the folder of outputs in the claimed directory `work` and `target`, an output of ours or an
 * empty directory. The old one lies in the claimed directory then, every file of it listed there: closing
 * the claim removes it, and so does the next job where this one is killed. BM_ERR_USAGE: it is not ours,
 * or is not any more once it is exchanged, which is undone. */
bm_status bm_out_replace(bm_out_claim *claim, const char *work, const char *target,
                         bm_out_existing existing, bm_error *err);

#endif
