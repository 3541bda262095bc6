/* query_targets.c -- a job within a job: that of `index build`, whose store is kept open.
 *
 * The file of the index has no name, so that whatever ends the process, nothing is left of it.
 *
 * Tests: tests/cli/cases/query.sh, tests/reference/test_query.py */
#include "index/query_targets.h"

#include "base/error.h"
#include "index/index_fill.h"
#include "index/index_place.h"
#include "index/index_settings.h"

#define FEW_BYTES ((uint64_t)256 << 20) /* of targets: not worth starting a driver for */

/* The settings of a build of the same options. */
static bm_settings settings_of_build(const bm_settings *query)
{
    bm_settings s = *query;
    s.kind = BM_JOB_INDEX_BUILD;
    s.input.paths = query->index.query.targets;
    s.input.n_paths = query->index.query.n_targets;
    s.input.files_from = NULL;
    s.input.files_from_nul = false;
    s.output = (bm_output_options){0};
    s.results = (bm_result_settings){0};
    s.index = (bm_index_settings){
        .store = query->pairs.verify == BM_VERIFY_SIGNATURE ? BM_INDEX_SIGNATURES : BM_INDEX_SETS};
    s.perms_used = bm_index_perms_used(&s);
    return s;
}

/* In the directory for temporary files; where none was asked for and it cannot be written to, in that of the
 * system. */
static bm_status create(bm_job_context *job, const bm_store_facts *facts, bm_store **out,
                        bm_error *err)
{
    const bm_settings *s = job->settings;
    bm_store_cfg cfg = bm_index_store_cfg(job, BM_STORE_WRITE);
    bm_error why = {0};
    cfg.temp_dir = s->temp_dir;
    bm_status status = bm_store_create_unnamed(facts, &cfg, out, &why);
    if (status == BM_ERR_IO && s->resources.temp_dir == NULL) {
        cfg.temp_dir = "/tmp";
        status = bm_store_create_unnamed(facts, &cfg, out, NULL);
    }
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

static bm_status fill(bm_job *build, bm_job_context *job, bm_query_source *out, bm_error *err)
{
    bm_buf text = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_settings_write(&build->context, &text, err));
    const bm_store_facts facts = bm_index_facts(build->context.settings, &text);
    BM_TRY_OUT(create(job, &facts, &out->store, err));
    BM_TRY_OUT(bm_index_fill_run(&(bm_index_fill){.job = build, .store = out->store}, err));
    status = bm_store_view_open(out->store, &out->view, err);
out:
    bm_buf_reset(&text);
    return status;
}

bm_status bm_query_targets_open(bm_job_context *job, bm_settings *settings, bm_query_source *out,
                                bm_error *err)
{
    bm_summary *none = NULL;
    bm_job build;
    *out = (bm_query_source){0};
    BM_TRY(bm_settings_plan(settings, err));
    bm_settings s = settings_of_build(settings);
    settings->perms_used = s.perms_used;
    BM_TRY(bm_job_open(&s, &build, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_begin(&build, BM_STEP_INPUTS, err));
    if (s.device.device == NULL && bm_input_set_total_bytes(build.context.inputs.set) < FEW_BYTES)
        s.device.device = "cpu";
    BM_TRY_OUT(bm_job_begin(&build, BM_STEP_DEVICES | BM_STEP_KEYS, err));
    status = fill(&build, job, out, err);
out:
    status = bm_job_close(&build, status, &none);
    if (status != BM_OK)
        bm_query_source_close(out);
    return status;
}
