/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h -- lets a job be interrupted and resumed: its results so far are saved in its work
 * directory (checkpoint_state.h).
 *
 * One journal line saves a stage. It is written after all data it describes has been handed to the
 * system, and records how much of each file is valid, so the process may be killed at any time.
 * Nothing is synced: after a crash of the machine, checksums and lengths reveal missing data, and
 * the checkpoint is refused.
 *
 * A job is saved at the first signal, at any cost; else once the seconds of work since the last
 * checkpoint are at least 10 and at least 20 times the predicted time of saving. So a job of a few
 * seconds saves nothing, and saving takes at most about a twentieth of the time. With
 * bm_resource_options.checkpoint_seconds a job is instead saved at that interval of work (0: after
 * each batch).
 *
 * Threads: one at a time; saving runs in the ordered part of the ingest. */
#pragma once

#include "job/checkpoint_state.h"
#include "job/job_context.h"

/* Open the output directory of a job with open inputs and complete settings. With
 * settings->results.resume the checkpoint there is checked against the job. Without it,
 * BM_ERR_USAGE if documents are saved there, unless settings->output.force discards them; other
 * remains are cleared. `saves`: this kind of job can be saved. If settings->results.resume finds
 * the job done, out->done is its summary, owned by the caller, and there is no directory and
 * nothing to do. BM_ERR_FORMAT: the work there belongs to another job, and stays; BM_ERR_LOCKED,
 * BM_ERR_IO. On failure nothing needs to be closed. */
bm_status bm_checkpoint_open(bm_job_context *job, bool saves, bm_checkpoint *out, bm_error *err);
/* The state in which the job starts, for bm_job_context_plan. */
bm_job_start bm_checkpoint_start(const bm_checkpoint *checkpoint);
/* Load the checkpoint: documents and counts into the job, and into `corpus` (must be empty; NULL:
 * the job has none). BM_OK if there is no checkpoint. */
bm_status bm_checkpoint_load(bm_checkpoint *checkpoint, bm_corpus *corpus, bm_error *err);
/* Call bm_job_context_ingest for the unread inputs, and save when it is due. */
bm_status bm_checkpoint_ingest(bm_checkpoint *checkpoint, const bm_ingest_request *request,
                               bm_error *err);
/* Call bm_match_run, or load its saved results. New results are saved if that is due. */
bm_status bm_checkpoint_match(bm_checkpoint *checkpoint, bm_match *match, bm_error *err);
/* Call when the job has ended with `status`: saves its results if it can be resumed once the cause
 * is removed. bm_checkpoint_close does this too; a job calls this first if it must save earlier. */
void bm_checkpoint_save_ended(bm_checkpoint *checkpoint, bm_status status);
/* Remove the checkpoint, and rename the directory into place. */
bm_status bm_checkpoint_commit(bm_checkpoint *checkpoint, bm_error *err);
/* `status` and `err`: how the job ended. If it may be resumed, its checkpoint stays (brought up to
 * date if the job was cancelled), and a message says so (in `err` if the job was cancelled).
 * Otherwise the directory is removed. {0} is fine. */
void bm_checkpoint_close(bm_checkpoint *checkpoint, bm_status status, bm_error *err);
