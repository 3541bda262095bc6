/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h -- a job that can be interrupted and resumed: its results so far are in its work
 * directory (checkpoint_state.h).
 *
 * A stage is saved by one line of the journal, written when all it speaks of has been handed to the
 * system: a process may be killed at any time, and the line records how much of each file counts.
 * Nothing is synced: after a crash of the machine, checksums and lengths show missing data, which
 * are refused.
 *
 * When: at the first signal whatever it costs; else once the seconds of work since the last
 * checkpoint are 20 times what saving is foreseen to take, and 10 at least. So a job of some
 * seconds writes nothing at all, and none spends more than about a twentieth of its time. Or every
 * N seconds of work, 0 after each batch (bm_resource_options.checkpoint_seconds).
 *
 * Threads: one at a time, as the ordered end of ingesting is. */
#pragma once

#include "job/checkpoint_state.h"
#include "job/job_context.h"

/* Open the output directory. With settings->results.resume the checkpoint is checked against the
 * job, which has its inputs open and its settings complete; without, sealed documents that lie
 * there are BM_ERR_USAGE unless settings->output.force discards them, and what holds none is
 * cleared. `saves`: this kind of job can be saved. Where settings->results.resume finds the job
 * done, out->done is its summary, the caller's, and there is nothing to do and no directory.
 * BM_ERR_FORMAT: what lies there is of another job, and stays; BM_ERR_LOCKED, BM_ERR_IO. On failure
 * nothing is to be closed. */
bm_status bm_checkpoint_open(bm_job_context *job, bool saves, bm_checkpoint *out, bm_error *err);
/* The start of the job, for bm_job_context_plan. */
bm_job_start bm_checkpoint_start(const bm_checkpoint *checkpoint);
/* Load the checkpoint: documents and counts into the job and `corpus` (empty; NULL: none). No
 * checkpoint: BM_OK. */
bm_status bm_checkpoint_load(bm_checkpoint *checkpoint, bm_corpus *corpus, bm_error *err);
/* bm_job_context_ingest over the unread inputs, saving now and then. */
bm_status bm_checkpoint_ingest(bm_checkpoint *checkpoint, const bm_ingest_request *request,
                               bm_error *err);
/* bm_match_run, or its saved results; saves them if that is worth it. */
bm_status bm_checkpoint_match(bm_checkpoint *checkpoint, bm_match *match, bm_error *err);
/* The job ends with `status`: save its results, if it can be resumed from there once the cause is
 * mended. bm_checkpoint_close does this too; a job that must save before, calls it earlier. */
void bm_checkpoint_save_ended(bm_checkpoint *checkpoint, bm_status status);
/* Remove the checkpoint, rename the directory into place. */
bm_status bm_checkpoint_commit(bm_checkpoint *checkpoint, bm_error *err);
/* `status` and `err`: how the job ended. If it may be resumed, its checkpoint stays (brought up to
 * date if the job was cancelled), and a message says so, in `err` where the job was cancelled; else
 * the directory is removed. {0} is fine. */
void bm_checkpoint_close(bm_checkpoint *checkpoint, bm_status status, bm_error *err);
