/* index_add.c -- more documents into an index.
 *
 * Tests: tests/cli/cases/index_add.sh, tests/unit/jobs/test_public_api_index.c */
#include <bandmill/index.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "index/index_fill.h"
#include "index/index_place.h"
#include "index/index_settings.h"

/* The index stays as at its last commit: say how to go on from there. */
static void say_committed(bm_job *job, bm_status status, bm_error *err)
{
    const bm_index_counts *counts = &job->context.counts.results.index;
    if (counts->commits == 0 || status == BM_OK || err == NULL)
        return;
    char words[200];
    const int len = snprintf(words, sizeof words,
                             "; what was read up to the last commit stays in the index, and the "
                             "same command with `resume` continues from there");
    size_t at = strnlen(err->message, sizeof err->message - 1);
    if (len > 0 && at + (size_t)len >= sizeof err->message)
        at = sizeof err->message - 1 - (size_t)len;
    memcpy(err->message + at, words, (size_t)len + 1);
}

static bm_status add_all(bm_job *job, bm_store *store, const bm_index_signed *dirs, bm_error *err)
{
    const bool documents = dirs->n == 0 && !job->context.settings->index.follow;
    const unsigned steps = BM_STEP_INPUTS | BM_STEP_DEVICES | BM_STEP_KEYS;
    bm_status status = bm_job_begin(job, documents ? steps : 0, err);
    if (status == BM_OK)
        status = bm_index_fill_run(
            &(bm_index_fill){.job = job, .store = store, .dirs = dirs, .commits = true}, err);
    if (status != BM_OK)
        say_committed(job, status, err);
    if (status == BM_OK)
        status = bm_index_count(store, &job->context, err);
    return status == BM_OK ? bm_job_finish(job, &(bm_job_ending){0}, err) : status;
}

static bm_status run_job(bm_settings *settings, bm_summary **out, bm_error *err)
{
    bm_job job;
    bm_store *store = NULL;
    bm_index_signed dirs = {0};
    const char *path = settings->output.path;
    BM_TRY(bm_job_open(settings, &job, err));
    const bm_store_cfg cfg = bm_index_store_cfg(&job.context, BM_STORE_WRITE);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_open(path, &cfg, &store, err));
    BM_TRY_OUT(bm_index_settings_take(bm_store_facts_of(store), path, settings, err));
    BM_TRY_OUT(bm_index_signed_open(settings, path, &dirs, err));
    status = add_all(&job, store, &dirs, err);
out:
    bm_index_signed_close(&dirs);
    bm_store_close(store);
    return bm_job_close(&job, status, out);
}

bm_status bm_job_index_add(const bm_index_add_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    char path[PATH_MAX];
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_index_add(options, &settings, err));
    bm_status status = bm_index_find(settings.output.path, path, sizeof path, err);
    settings.output.path = path;
    if (status == BM_OK)
        status = run_job(&settings, out, err);
    bm_settings_reset(&settings);
    return status;
}
