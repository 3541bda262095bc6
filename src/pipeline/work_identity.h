/* work_identity.h -- what must be the same for interrupted work to be gone on with: the program,
 * the command, the options that decide results, the inputs.
 *
 *     program   version, digest of the kernels
 *     setting   a line of the report's JSON: provenance, parameters, plan, and what is written
 *     input     name, bytes, time of the last change, XXH3 64 of the first and last 64 KiB
 *
 * --threads, --memory, --device, --temp-dir, --progress and what only says how to speak are not
 * among them. */
#ifndef BM_PIPELINE_WORK_IDENTITY_H
#define BM_PIPELINE_WORK_IDENTITY_H

#include "pipeline/run.h"
#include "spill/journal.h"

/* Add these lines to an empty journal. BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_work_identity_add(const bm_run *run, bm_journal *journal, bm_error *err);
/* Compare with the first lines of a journal; *n_lines of them. BM_ERR_FORMAT names what differs. */
bm_status bm_work_identity_check(const bm_run *run, const bm_journal *journal, size_t *n_lines,
                                 bm_error *err);

#endif
