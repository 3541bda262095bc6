/* SPDX-License-Identifier: Apache-2.0 */
/* job_export.c -- exports a directory of signatures in the form of another tool.
 *
 * The output is always a directory. It has the files of the form, files with the data that the form
 * cannot store, and report.json, which has the provenance of the signatures.
 *
 * Tests: tests/cli/cases/export.sh, tests/reference/test_exchange.py */
#include <bandmill/exchange.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "model/file_names.h"
#include "job/job_context.h"
#include "job/recipe.h"
#include "exchange/exporter.h"
#include "job/report_file.h"
#include "job/job_steps.h"
#include "model/scheme_facts.h"

/* Log which files have data that the form cannot store. */
static void log_companions(const bm_exporter *e)
{
    const char *to = bm_option_name(BM_OPTION_EXCHANGE, e->form->to);
    const unsigned has = e->form->has;
    bm_meter *meter = &e->context->meter;
    if ((has & BM_FORM_BY_DOCUMENT) != 0)
        bm_meter_log(meter, BM_LOG_INFO,
                     "%s knows documents by numbers: " BM_FILE_DOCUMENTS
                     " has their ids, " BM_FILE_REPORT " their provenance",
                     to);
    else if ((has & BM_FORM_HAS_IDS) == 0)
        bm_meter_log(
            meter, BM_LOG_INFO,
            "%s has no place for ids, numbers of shingles and provenance: these are in " BM_FILE_IDS
            ", " BM_FILE_N_SHINGLES " and " BM_FILE_REPORT,
            to);
    else if ((has & BM_FORM_HAS_PROVENANCE) == 0)
        bm_meter_log(meter, BM_LOG_INFO,
                     "%s has no place for provenance: that is in " BM_FILE_REPORT, to);
}

static bm_status run_job(const bm_settings *settings, bm_sign_dir *dir, const bm_recipe *recipe,
                         bm_summary **out, bm_error *err)
{
    bm_job job;
    BM_TRY(bm_job_open(settings, &job, err));
    bm_exporter e = {.context = &job.context,
                     .dir = dir,
                     .form = bm_export_form_of(settings->results.exchange.to),
                     .word_bytes = bm_scheme_value_bytes(settings->sketch.scheme)};
    job.context.inputs.recorded = recipe;
    bm_job_context_reserve(&job.context, bm_manifest_bytes(bm_sign_dir_manifest(dir)));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_report_read_counts(bm_sign_dir_manifest(dir), &job.context.counts, err));
    BM_TRY_OUT(bm_job_begin(&job, 0, err));
    BM_TRY_OUT(bm_out_dir_open(settings->output.path,
                               bm_out_existing_within(settings->output.force, settings->memory),
                               &e.out, err));
    bm_job_context_stage(e.context, BM_STAGE_WRITE, "documents");
    BM_TRY_OUT(e.form->write(&e, err));
    BM_TRY_OUT(bm_export_beside(&e, err));
    BM_TRY_OUT(
        bm_job_finish(&job, &(bm_job_ending){.dir = e.out, .report_name = BM_FILE_REPORT}, err));
    log_companions(&e);
out:
    bm_out_dir_close(e.out);
    return bm_job_close(&job, status, out);
}

/* Set in the settings how the documents were signed, check that the form can store such signatures,
 * and choose the plan. */
static bm_status resolve(bm_sign_dir *dir, bm_recipe *recipe, bm_settings *settings, bm_error *err)
{
    const bm_export_form *form = bm_export_form_of(settings->results.exchange.to);
    const bm_manifest *manifest = bm_sign_dir_manifest(dir);
    BM_TRY(bm_recipe_apply(recipe, settings, err));
    BM_TRY(bm_export_form_check(form, settings, err));
    return bm_export_resolve_plan(form, manifest, settings, err);
}

static bm_status open_dir(const bm_settings *settings, const char *path, bm_sign_dir **out,
                          bm_error *err)
{
    bool is = false, there;
    BM_TRY(bm_look_at(AT_FDCWD, path, 0, &there, NULL, err));
    if (!there)
        return bm_fail_errno(err, ENOENT, path, "cannot open");
    BM_TRY(bm_sign_dir_is(path, settings->memory, &is, err));
    if (!is)
        return bm_fail_field_at(err, "path", path, 0,
                                "is no directory of signatures (one that sign or import wrote)");
    return bm_sign_dir_open(path, settings->memory, out, err);
}

bm_status bm_job_export(const bm_export_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    bm_export_options taken;
    bm_weighed weighed = {0};
    bm_sign_dir *dir = NULL;
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_export(options, &settings, &taken, err));
    settings.recorded.weighed = &weighed;
    const bm_manifest *manifest = NULL;
    bm_recipe recipe = {.manifests = &manifest, .n = 1};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_context_check_outputs(&settings, &taken.path, 1, err));
    BM_TRY_OUT(open_dir(&settings, taken.path, &dir, err));
    manifest = bm_sign_dir_manifest(dir);
    BM_TRY_OUT(resolve(dir, &recipe, &settings, err));
    status = run_job(&settings, dir, &recipe, out, err);
out:
    bm_recipe_reset(&recipe);
    bm_sign_dir_close(dir);
    bm_settings_reset(&settings);
    return status;
}
