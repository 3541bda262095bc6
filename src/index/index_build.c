/* index_build.c -- a new index of documents, made beside its place and renamed when it is whole.
 *
 * Tests: tests/cli/cases/index_build.sh, tests/unit/jobs/test_public_api_index.c */
#include <bandmill/index.h>

#include "base/error.h"
#include "base/memory.h"
#include "index/index_fill.h"
#include "index/index_place.h"
#include "index/index_settings.h"

/* Everything into the work directory, committed and closed. */
static bm_status fill(bm_job *job, const bm_index_work *work, const bm_index_signed *dirs,
                      bm_error *err)
{
    bm_buf text = {0};
    bm_store *store = NULL;
    const bm_store_cfg cfg = bm_index_store_cfg(&job->context, BM_STORE_WRITE);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_settings_write(&job->context, &text, err));
    const bm_store_facts facts = bm_index_facts(job->context.settings, &text);
    BM_TRY_OUT(bm_store_create(work->folder, &facts, &cfg, &store, err));
    BM_TRY_OUT(bm_index_fill_run(&(bm_index_fill){.job = job, .store = store, .dirs = dirs}, err));
    status = bm_index_count(store, &job->context, err);
out:
    bm_store_close(store);
    bm_buf_reset(&text);
    return status;
}

static bm_status run_job(const bm_settings *settings, const bm_index_signed *dirs, bm_summary **out,
                         bm_error *err)
{
    bm_job job;
    bm_index_work work = {.old = -1};
    const bool documents = dirs->n == 0;
    BM_TRY(bm_job_open(settings, &job, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(documents ? bm_job_begin(&job, BM_STEP_INPUTS, err)
                         : bm_job_context_check_outputs(settings, settings->input.paths,
                                                        settings->input.n_paths, err));
    BM_TRY_OUT(bm_index_work_open(settings, settings->output.force, true, &work, err));
    BM_TRY_OUT(bm_job_begin(&job, documents ? BM_STEP_DEVICES | BM_STEP_KEYS : 0, err));
    BM_TRY_OUT(fill(&job, &work, dirs, err));
    status = bm_job_finish(&job, &(bm_job_ending){.dir = work.dir}, err);
out:
    bm_index_work_close(&work);
    return bm_job_close(&job, status, out);
}

bm_status bm_job_index_build(const bm_index_build_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    bm_index_signed dirs = {0};
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_index_build(options, &settings, err));
    settings.index.kind = &bm_index_kind;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_signed_open(&settings, NULL, &dirs, err));
    BM_TRY_OUT(bm_settings_plan(&settings, err));
    settings.perms_used = bm_index_perms_used(&settings);
    status = run_job(&settings, &dirs, out, err);
out:
    bm_index_signed_close(&dirs);
    bm_settings_reset(&settings);
    return status;
}
