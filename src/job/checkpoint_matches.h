/* checkpoint_matches.h -- what matching found, in a file: counts, and edges or groups.
 *
 *     record   header
 *     record   with only_groups: a block of labels, edges to earlier documents, their similarities;
 *              else a block of edges                          (spill_file.h; integers of the host)
 *
 * Threads: one at a time. */
#ifndef BM_CHECKPOINT_CHECKPOINT_MATCHES_H
#define BM_CHECKPOINT_CHECKPOINT_MATCHES_H

#include "match/match.h"
#include "spill/spill_file.h"

/* After bm_match_run; flushes. */
bm_status bm_checkpoint_matches_save(bm_match *match, bm_spill_file *file, bm_error *err);
/* Instead of bm_match_run, with the same fields filled in. BM_ERR_FORMAT: not what was saved. */
bm_status bm_checkpoint_matches_load(bm_match *match, const bm_spill_file *file, bm_error *err);

#endif
