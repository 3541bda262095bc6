/* index_compact.c -- the documents that are there into a new index, which takes the place of the old one.
 *
 * Readers that have the old one open go on with it; its file goes when the last of them ends.
 *
 * Tests: tests/cli/cases/index_remove.sh, tests/unit/jobs/test_public_api_index.c */
#include <bandmill/index.h>

#include <limits.h>

#include "base/error.h"
#include "job/job_stages.h"
#include "index/index_fill.h"
#include "index/index_place.h"
#include "index/index_settings.h"

static bm_status copy(bm_job_context *job, bm_store *old, const bm_index_work *work, bm_error *err)
{
    bm_store *made = NULL;
    const bm_store_cfg cfg = bm_index_store_cfg(job, BM_STORE_WRITE);
    bm_job_context_stage(job, BM_STAGE_WRITE, "documents");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_create(work->folder, bm_store_facts_of(old), &cfg, &made, err));
    BM_TRY_OUT(bm_store_copy(old, made, err));
    BM_TRY_OUT(bm_store_commit(made, err));
    status = bm_index_count(made, job, err);
out:
    bm_store_close(made);
    return status;
}

static bm_status run_job(bm_settings *settings, bm_summary **out, bm_error *err)
{
    bm_job job;
    bm_store *old = NULL;
    bm_index_work work = {.old = -1};
    BM_TRY(bm_job_open(settings, &job, err));
    const bm_store_cfg cfg = bm_index_store_cfg(&job.context, BM_STORE_WRITE);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_open(settings->output.path, &cfg, &old, err));
    BM_TRY_OUT(
        bm_index_settings_take(bm_store_facts_of(old), settings->output.path, settings, err));
    BM_TRY_OUT(bm_job_begin(&job, 0, err));
    BM_TRY_OUT(bm_index_work_open(settings, true, false, &work, err));
    BM_TRY_OUT(copy(&job.context, old, &work, err));
    status = bm_job_finish(&job, &(bm_job_ending){.dir = work.dir}, err);
out:
    bm_index_work_close(&work);
    bm_store_close(old);
    return bm_job_close(&job, status, out);
}

bm_status bm_job_index_compact(const bm_index_compact_options *options, bm_summary **out,
                               bm_error *err)
{
    bm_settings settings;
    char path[PATH_MAX];
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_index_compact(options, &settings, err));
    bm_status status = bm_index_find(settings.output.path, path, sizeof path, err);
    settings.output.path = path;
    if (status == BM_OK)
        status = run_job(&settings, out, err);
    bm_settings_reset(&settings);
    return status;
}
