/* SPDX-License-Identifier: Apache-2.0 */
/* index_of_documents.c -- runs a job within a job. The inner job does what `index build` does, but
 * leaves the store open.
 *
 * Tests: tests/cli/cases/against_documents.sh, tests/cli/cases/query.sh */
#include "index/index_of_documents.h"

#include "base/error.h"
#include "base/memory.h"
#include "index/index_fill.h"
#include "index/index_place.h"
#include "job/job_steps.h"

static bm_settings settings_of_build(const bm_settings *asking, const bm_input_options *input)
{
    bm_settings s = *asking;
    s.kind = BM_JOB_INDEX_BUILD;
    s.input = *input;
    s.output = (bm_output_options){0};
    s.results = (bm_result_settings){0};
    s.recorded = (bm_recorded_inputs){.set_fields = asking->recorded.set_fields};
    s.keep = (bm_keep_rules){0};
    s.index = (bm_index_settings){
        .store = asking->pairs.verify == BM_VERIFY_SIGNATURE ? BM_INDEX_SIGNATURES : BM_INDEX_SETS};
    s.pairs.n_against = 0;
    s.perms_used = bm_index_perms_used(&s);
    return s;
}

/* Create the index in the job's directory for temporary files. If no directory was given and the
 * default one cannot be used, try /tmp. */
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

static bm_status fill(bm_job *build, bm_job_context *job, bm_unnamed_index *out, bm_error *err)
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

bm_status bm_index_of_documents(bm_job_context *job, const bm_settings *settings,
                                const bm_input_options *input, bm_unnamed_index *out, bm_error *err)
{
    bm_summary *none = NULL;
    bm_job build;
    bm_settings s = settings_of_build(settings, input);
    *out = (bm_unnamed_index){.perms_used = s.perms_used};
    BM_TRY(bm_job_open(&s, &build, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_begin(&build, BM_STEP_INPUTS, err));
    if (bm_device_is_auto(s.device.device) &&
        bm_input_set_total_bytes(build.context.inputs.set) < BM_INDEX_FEW_BYTES)
        s.device.device = "cpu";
    BM_TRY_OUT(bm_job_begin(&build, BM_STEP_DEVICES | BM_STEP_KEYS, err));
    BM_TRY_OUT(fill(&build, job, out, err));
    status = bm_input_set_state(build.context.inputs.set, bm_store_view_counts(out->view).documents,
                                out->state, err);
out:
    status = bm_job_close(&build, status, &none);
    if (status != BM_OK) {
        bm_store_view_close(out->view);
        bm_store_close(out->store);
        *out = (bm_unnamed_index){0};
    }
    return status;
}
