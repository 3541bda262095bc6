/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h -- lets a job be interrupted and resumed: the results so far are saved in the work
 * directory of the job (checkpoint_state.h).
 *
 * A stage is saved once its line is in the journal. The line records how much of each file is
 * valid, and is written after these data have been passed to the system, so the process may be
 * killed at any time. Nothing is synced: if the machine crashes and data are lost, checksums and
 * lengths reveal this, and the checkpoint is refused.
 *
 * A job that is cancelled is saved at any cost. While a job runs, it is saved once the seconds of
 * work since the last checkpoint are at least 10, and at least 20 times the predicted time of
 * saving. So a job of a few seconds saves nothing, and saving takes at most about a twentieth of
 * the time. With bm_resource_options.checkpoint_seconds a running job is instead saved at that
 * interval of work (0: after each batch).
 *
 * Threads: one at a time; during the ingest, a checkpoint is saved between two batches. */
#pragma once

#include "job/checkpoint_state.h"
#include "job/job_context.h"

/* Open the output directory of a job whose inputs are open and whose settings are complete.
 * `saves`: this kind of job can be saved. There are these cases:
 *
 *     results.resume, and the output is that of this very job: out->done becomes its summary, which
 *     the caller owns; no directory is opened, and nothing is left to do
 *     results.resume and `saves`, and documents are saved: they are checked against the job, for
 *     bm_checkpoint_load; BM_ERR_FORMAT: they belong to another job, and stay
 *     neither, and documents are saved: output.force discards them; without it, BM_ERR_USAGE
 *     no documents are saved: remains of an earlier job are removed
 *
 * BM_ERR_USAGE also: resume is requested, and the inputs cannot be read again. BM_ERR_LOCKED,
 * BM_ERR_IO. On failure nothing needs to be closed. */
bm_status bm_checkpoint_open(bm_job_context *job, bool saves, bm_checkpoint *out, bm_error *err);
/* What the job begins with, for bm_job_context_plan. */
bm_job_start bm_checkpoint_start(const bm_checkpoint *checkpoint);
/* Load the saved documents and counts into the job, and the documents into `corpus`, which must be
 * empty and is borrowed until close (NULL: the job has none). If nothing is saved, this only stores
 * `corpus`. */
bm_status bm_checkpoint_load(bm_checkpoint *checkpoint, bm_corpus *corpus, bm_error *err);
/* Let a job within the owner of the checkpoint use it: `to` is the checkpoint of that job, whose
 * documents and matches are saved. `from` is empty then. */
void bm_checkpoint_lend(bm_checkpoint *from, bm_job_context *job, bm_checkpoint *to);
/* The owner takes it back, to write its outputs. Nothing more is saved. */
void bm_checkpoint_take_back(bm_checkpoint *from, bm_checkpoint *to);
/* Call bm_job_context_ingest for the records that are not saved, and save whenever it is due. */
bm_status bm_checkpoint_ingest(bm_checkpoint *checkpoint, const bm_ingest_request *request,
                               bm_error *err);
/* Load the saved results of matching, or, if there are none, call bm_match_run. The results are
 * saved if that is due. `match` is borrowed until close. */
bm_status bm_checkpoint_match(bm_checkpoint *checkpoint, bm_match *match, bm_error *err);
/* Save the results of a job that has ended with `status`, if it was cancelled, or failed in a way
 * that can be repaired before it is resumed. bm_checkpoint_close does this too; a job calls this
 * if it must save before it frees its data. */
void bm_checkpoint_save_ended(bm_checkpoint *checkpoint, bm_status status);
/* Remove the checkpoint, and rename the directory into place. */
bm_status bm_checkpoint_commit(bm_checkpoint *checkpoint, bm_error *err);
/* Close the checkpoint of a job that ended with `status` and *err. If the job failed and can be
 * resumed, unsaved results are saved (bm_checkpoint_save_ended), the directory stays, and a message
 * says so: in *err if the job was cancelled or an input is broken, else in the log. If it failed
 * and cannot be resumed, the directory is removed. {0} is fine. */
void bm_checkpoint_close(bm_checkpoint *checkpoint, bm_status status, bm_error *err);
