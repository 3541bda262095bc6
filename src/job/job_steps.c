/* SPDX-License-Identifier: Apache-2.0 */
/* job_steps.c -- runs the common steps of jobs in one order.
 *
 * Tests: tests/unit/jobs/test_jobs.c */
#include "job/job_steps.h"

#include <string.h>

#include "base/error.h"
#include "output/out_target.h"
#include "job/kept_pass.h"
#include "job/report_file.h"

bm_status bm_job_open(const bm_settings *settings, bm_job *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    return bm_job_context_open(settings, &out->context, err);
}

/* Call `ready` of the caller, which may refuse the outputs. All outputs are written by then, but
 * not yet renamed. */
static bm_status ask_caller(const bm_job *job, bm_error *err)
{
    const bm_output_options *output = &job->context.settings->output;
    bm_error why = {0};
    if (output->ready == NULL)
        return BM_OK;
    bm_status status = output->ready(output->ready_ctx, job->summary, &why);
    if (status != BM_OK && err != NULL) {
        *err = why;
        err->status = status;
    }
    return status;
}

/* Ask the caller, then rename the outputs into place. On failure, bm_out_group_end must undo the
 * renames of files. */
static bm_status rename_outputs(bm_job *job, const bm_job_ending *ending, bm_error *err)
{
    BM_TRY(ask_caller(job, err));
    BM_TRY(bm_out_group_place(&job->files, err));
    if (ending->dir != NULL)
        BM_TRY(ending->commit_checkpoint ? bm_checkpoint_commit(&job->checkpoint, err)
                                         : bm_out_dir_commit(ending->dir, err));
    return BM_OK;
}

/* Finish a job that an earlier run has completed. Only the copy of the report may be missing. */
static bm_status finish_done(bm_job *job, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(
        bm_report_write_copy(&job->context, job->summary, job->existing_report, &job->files, err));
    status = rename_outputs(job, &(bm_job_ending){0}, err);
out:
    bm_out_group_end(&job->files, status == BM_OK);
    return status;
}

/* Decide whether the copy of the report may replace an existing file, and set job->existing_report.
 * With `resume`, it may replace a report of the same job: that report exists if the job was killed
 * between its last renames, or if the job is done. BM_ERR_USAGE: with `resume`, any other file
 * exists. */
static bm_status check_report_place(bm_job *job, bm_error *err)
{
    const bm_settings *s = job->context.settings;
    bool there = false, same = false;
    bm_manifest *report = NULL;
    bm_status status = BM_OK;
    job->existing_report = bm_out_existing_of(s->output.force);
    if (s->results.resume && !s->output.force && s->output.report != NULL)
        status = bm_place_exists(s->output.report, &there, err);
    if (status != BM_OK || !there)
        return status;
    bm_error why = {0};
    status = bm_manifest_open(s->output.report, s->memory, &report, &why);
    if (status == BM_OK)
        status = bm_report_is_of(&job->context, report, &same, err);
    else if (status == BM_ERR_FORMAT) /* the existing file is no report */
        status = BM_OK;
    else if (err != NULL)
        *err = why;
    bm_manifest_close(report);
    if (status == BM_OK && same)
        job->existing_report = BM_OUT_REPLACE;
    else if (status == BM_OK)
        status = bm_out_target_file(s->output.report, BM_OUT_REFUSE, err);
    return status;
}

bm_status bm_job_begin(bm_job *job, unsigned steps, bm_error *err)
{
    if ((steps & BM_STEP_INPUTS) != 0) {
        BM_TRY(bm_job_context_inputs(&job->context, err));
        BM_TRY(bm_kept_check_names(&job->context, err));
        BM_TRY(bm_job_weights_count(&job->context, err));
    }
    BM_TRY(check_report_place(job, err));
    if ((steps & BM_STEP_DIRECTORY) != 0)
        BM_TRY(bm_checkpoint_open(&job->context, (steps & BM_STEP_CHECKPOINTS) != 0,
                                  &job->checkpoint, err));
    job->summary = job->checkpoint.done;
    if (job->summary != NULL)
        return finish_done(job, err);
    return (steps & BM_STEP_DEVICES) != 0
               ? bm_job_context_devices(&job->context, (steps & BM_STEP_KEYS) != 0, err)
               : BM_OK;
}

bm_status bm_job_finish(bm_job *job, const bm_job_ending *ending, bm_error *err)
{
    bm_job_context *context = &job->context;
    bm_status status = BM_OK;
    if (ending->dir != NULL) {
        bm_job_context_stage(context, BM_STAGE_SEAL, "files");
        bm_out_dir_use(ending->dir, &context->meter, context->pool);
        status = bm_out_dir_finish(ending->dir, err);
    }
    if (status == BM_OK)
        status = bm_report_make(context, ending->grouping, ending->dir, &job->summary, err);
    if (status == BM_OK && ending->dir != NULL && ending->report_name != NULL)
        status = bm_report_write(job->summary, ending->dir, ending->report_name, err);
    if (status == BM_OK)
        status =
            bm_report_write_copy(context, job->summary, job->existing_report, &job->files, err);
    context->stats.similarities = NULL;
    if (status == BM_OK)
        status = rename_outputs(job, ending, err);
    const bool stands = ending->dir != NULL && bm_out_dir_is_committed(ending->dir);
    bm_out_group_end(&job->files, status == BM_OK || stands);
    return status;
}

bm_status bm_job_close(bm_job *job, bm_status status, bm_summary **out)
{
    bm_out_group_end(&job->files, false); /* if the job did not finish, this removes its files */
    bm_job_context_close(&job->context);
    if (status == BM_OK)
        *out = job->summary;
    else
        bm_summary_free(job->summary);
    return status;
}
