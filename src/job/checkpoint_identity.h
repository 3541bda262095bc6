/* checkpoint_identity.h -- what must be the same for an interrupted job to be resumed: the program,
 * the settings that decide results, the inputs.
 *
 *     program   version, digest of the kernels
 *     digests   how files are digested (output/digest.h)
 *     setting   "name": value, of each setting that decides results (settings_list.h)
 *     input     name, bytes, time of the last change, XXH3 64 of the first and last 64 KiB
 *     repaired  which input, and its line as it is now
 *
 * Where the job ended since an input was broken behind what is sealed, the inputs from the place that
 * is sealed on may be others, for whoever reads them again holds the bytes before the place against
 * their digest (input/content_place.h). From then on they must stay as they are.
 *
 * --threads, --memory, --device, --temp-dir, --progress and what only says how to speak are not
 * among them. */
#ifndef BM_CHECKPOINT_CHECKPOINT_IDENTITY_H
#define BM_CHECKPOINT_CHECKPOINT_IDENTITY_H

#include "job/checkpoint_state.h"

/* Add these lines to an empty journal. BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_checkpoint_identity_add(const bm_job_context *job, bm_journal *journal, bm_error *err);
/* Compare with the first lines of a journal; *n_lines of them. `saved`: what it says is saved.
 * Inputs that were repaired are noted in it. BM_ERR_FORMAT names what differs; BM_ERR_IO. */
bm_status bm_checkpoint_identity_check(const bm_job_context *job, bm_journal *journal,
                                       const bm_checkpoint_saved *saved, size_t *n_lines,
                                       bm_error *err);

#endif
