/* job_steps.c -- one order for all jobs.
 *
 * Tests: tests/unit/jobs/test_jobs.c */
#include "pipeline/jobs/job_steps.h"

#include <string.h>

#include "base/error.h"
#include "pipeline/context/job_stages.h"
#include "pipeline/output/report.h"

bm_status bm_job_open(const bm_settings *settings, bm_job *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    return bm_job_context_open(settings, &out->context, err);
}

bm_status bm_job_begin(bm_job *job, unsigned steps, bm_error *err)
{
    bm_status status = BM_OK;
    if ((steps & BM_STEP_INPUTS) != 0)
        status = bm_job_context_inputs(&job->context, err);
    if (status == BM_OK && (steps & BM_STEP_DIRECTORY) != 0)
        status = bm_checkpoint_open(&job->context, (steps & BM_STEP_CHECKPOINTS) != 0,
                                    &job->checkpoint, err);
    if (status == BM_OK && (steps & BM_STEP_DEVICES) != 0)
        status = bm_job_context_devices(&job->context, (steps & BM_STEP_KEYS) != 0, err);
    return status;
}

bm_status bm_job_finish(bm_job *job, const bm_job_ending *ending, bm_error *err)
{
    bm_job_context *context = &job->context;
    bm_status status = BM_OK;
    if (ending->dir != NULL) {
        bm_job_context_stage(context, BM_STAGE_SEAL, "files");
        bm_out_dir_watch(ending->dir, &context->meter);
        status = bm_out_dir_finish(ending->dir, err);
    }
    if (status == BM_OK)
        status = bm_report_make(context, ending->grouping, ending->dir, &job->summary, err);
    if (status == BM_OK)
        status = bm_report_write(context, job->summary, ending->dir, ending->report_name, err);
    context->story.similarities = NULL;
    if (status != BM_OK || ending->dir == NULL)
        return status;
    return ending->commit_checkpoint ? bm_checkpoint_commit(&job->checkpoint, err)
                                     : bm_out_dir_commit(ending->dir, err);
}

bm_status bm_job_close(bm_job *job, bm_status status, bm_summary **out)
{
    bm_job_context_close(&job->context);
    if (status == BM_OK)
        *out = job->summary;
    else
        bm_summary_free(job->summary);
    return status;
}
