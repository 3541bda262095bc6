/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h -- saves the results of a job in its work directory (checkpoint_state.h), so that
 * the job can be resumed after an interruption.
 *
 * A stage is saved once its line is in the journal. The line records how many bytes of each file
 * are valid. It is written after these bytes were passed to the operating system, so the process
 * may be killed at any time. Nothing is synced. If the machine crashes and data are lost, wrong
 * checksums or lengths show this, and the checkpoint is refused.
 *
 * A cancelled job is saved, however long saving takes. A running job is saved when two conditions
 * hold: it has worked for at least 10 seconds since the last checkpoint, and for at least 20 times
 * the predicted time of saving. So a job of a few seconds saves nothing, and saving takes at most
 * about a twentieth of the time. bm_resource_options.checkpoint_seconds sets another interval
 * between checkpoints (0: after each batch).
 *
 * Threads: one at a time. During the ingest, a checkpoint is saved between two batches. */
#pragma once

#include "job/checkpoint_state.h"
#include "job/job_context.h"

/* Open the output directory of a job. The inputs must be open, and the settings complete. `saves`:
 * this kind of job can be saved. The cases, in this order:
 *
 *     results.resume is set, and the existing output is from the same job: out->done becomes
 *     its summary, which the caller owns. No directory is opened, since the job is done.
 *     No documents are saved: remains of an earlier job are removed.
 *     Documents are saved, and results.resume and `saves` are set: the saved documents are checked
 *     against the job, for bm_checkpoint_load. BM_ERR_FORMAT: they belong to another job, and stay.
 *     Documents are saved, but results.resume or `saves` is not set: output.force discards the
 *     saved documents. Without output.force, BM_ERR_USAGE.
 *
 * BM_ERR_USAGE also: results.resume is set, but the inputs cannot be read again. BM_ERR_LOCKED,
 * BM_ERR_IO. On failure nothing needs to be closed. */
bm_status bm_checkpoint_open(bm_job_context *job, bool saves, bm_checkpoint *out, bm_error *err);
/* Return how the job starts, for bm_job_context_plan. */
bm_job_start bm_checkpoint_start(const bm_checkpoint *checkpoint);
/* Load the saved counts into the job, and the saved documents into the job and `corpus`. `corpus`
 * must be empty, and is borrowed until close (NULL: the job has no corpus). If nothing is saved,
 * this only stores `corpus`. */
bm_status bm_checkpoint_load(bm_checkpoint *checkpoint, bm_corpus *corpus, bm_error *err);
/* Move the checkpoint of a job to `job`, an inner job that it runs. From now on, saves contain the
 * documents and matches of the inner job. `from` becomes empty. */
void bm_checkpoint_lend(bm_checkpoint *from, bm_job_context *job, bm_checkpoint *to);
/* Move the checkpoint of the inner job, `from`, back to its owner, which writes the outputs. From
 * now on nothing is saved. */
void bm_checkpoint_take_back(bm_checkpoint *from, bm_checkpoint *to);
/* Ingest the records that are not saved yet (bm_job_context_ingest), and save whenever it is
 * due. */
bm_status bm_checkpoint_ingest(bm_checkpoint *checkpoint, const bm_ingest_request *request,
                               bm_error *err);
/* Load the saved results of matching. If there are none, call bm_match_run, and save its results if
 * saving is due. `match` is borrowed until close. */
bm_status bm_checkpoint_match(bm_checkpoint *checkpoint, bm_match *match, bm_error *err);
/* Save the results of a job that has ended with `status`, if the job was cancelled, or failed while
 * reading for a reason that the user can repair before the job is resumed. A failed job that has
 * done little work, and was not saved before, is not saved now. bm_checkpoint_close does this too;
 * call this function only if the job frees its data before. */
void bm_checkpoint_save_ended(bm_checkpoint *checkpoint, bm_status status);
/* Remove the checkpoint, and rename the directory into place. */
bm_status bm_checkpoint_commit(bm_checkpoint *checkpoint, bm_error *err);
/* Close the checkpoint of a job that ended with `status` and *err. If the job failed and can be
 * resumed, unsaved results are saved (bm_checkpoint_save_ended), the directory stays, and a message
 * reports this. The message is in *err if the job was cancelled or an input is broken, else in the
 * log. If the job failed and cannot be resumed, the directory is removed. {0} is fine. */
void bm_checkpoint_close(bm_checkpoint *checkpoint, bm_status status, bm_error *err);
