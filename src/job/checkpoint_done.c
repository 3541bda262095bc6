/* checkpoint_done.c -- the report of the output that stands at the job's place is held against the
 * job. Whatever cannot be read or differs means that it is another's, which the job's opening tells.
 *
 * Tests: tests/cli/cases/ownership.sh */
#include "job/checkpoint_done.h"

#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "job/input_finder.h"
#include "output/out_dir_lock.h"
#include "output/out_state.h"
#include "job/report_read.h"

static bool same_input(const bm_job_context *job, const bm_source *source,
                       const bm_manifest_input *was, bm_status *status, bm_error *err)
{
    struct stat info;
    bool same = false;
    bm_error why = {0};
    if (source->unreadable != NULL || strcmp(source->name, was->file) != 0 ||
        stat(source->path, &info) != 0 || (uint64_t)info.st_size != was->bytes)
        return false;
    *status = bm_input_is_same(was, source->path, &job->callbacks, &same, &why);
    if (*status == BM_ERR_IO)
        *status = BM_OK; /* the job says what is wrong with it */
    else if (*status != BM_OK && err != NULL)
        *err = why;
    return *status == BM_OK && same;
}

static bm_status same_inputs(const bm_job_context *job, const bm_manifest *report, bool *same,
                             bm_error *err)
{
    bm_input_set *set = job->inputs.set;
    const size_t n = bm_input_set_count(set);
    const bm_source *offsets = bm_input_set_offsets(set);
    const bm_manifest_input *offsets_were = bm_manifest_offsets(report);
    bm_status status = BM_OK;
    *same = n == bm_manifest_n_inputs(report) && (offsets == NULL) == (offsets_were == NULL);
    if (*same && offsets != NULL)
        *same = same_input(job, offsets, offsets_were, &status, err);
    for (size_t i = 0; *same && i < n; i++)
        *same = same_input(job, bm_input_set_source(set, i), bm_manifest_input_at(report, i),
                           &status, err);
    return status;
}

/* Is every file there that the report lists? */
static bool is_whole(const char *target, const bm_manifest *report)
{
    bool whole = true;
    for (size_t i = 0; whole && i < bm_manifest_n_outputs(report); i++) {
        struct stat info;
        char *path = NULL;
        whole = bm_string_format(&path, NULL, "%s/%s", target,
                                 bm_manifest_output_at(report, i)->name) == BM_OK &&
                lstat(path, &info) == 0 && S_ISREG(info.st_mode);
        bm_free(path);
    }
    return whole;
}

static bm_status work_of(const char *target, char **out, bm_error *err)
{
    size_t len = strlen(target);
    while (len > 1 && target[len - 1] == '/')
        len--;
    return bm_string_format(out, err, "%.*s.partial", (int)len, target);
}

/* A journal goes before the rename: where one stands, `force` was to replace what is there with work
 * that is not done. */
static bm_status has_journal(const char *work, bool *out, bm_error *err)
{
    struct stat info;
    char *path = NULL;
    bm_status status = bm_string_format(&path, err, "%s/%s", work, BM_OUT_JOURNAL);
    *out = status == BM_OK && lstat(path, &info) == 0;
    bm_free(path);
    return status;
}

static bm_status compare(const bm_job_context *job, bm_summary **out, bm_error *err)
{
    const char *target = job->settings->output.path;
    bm_manifest *report = NULL;
    bm_error inner = {0};
    bool same = false;
    bm_status status = bm_manifest_open_dir(target, job->settings->memory, &report, &inner);
    if (status == BM_ERR_NOMEM && err != NULL)
        *err = inner;
    if (status != BM_OK)
        return status == BM_ERR_NOMEM ? status : BM_OK;
    BM_TRY_OUT(bm_report_is_of(job, report, &same, err));
    same = same && is_whole(target, report);
    if (same)
        BM_TRY_OUT(same_inputs(job, report, &same, err));
    if (same && bm_report_read(job, report, out, &inner) == BM_ERR_NOMEM)
        status = bm_fail_nomem(err, 0);
out:
    bm_manifest_close(report);
    return status;
}

bm_status bm_checkpoint_done(const bm_job_context *job, bm_summary **out, bm_error *err)
{
    char *work = NULL;
    bool journal = false;
    *out = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(work_of(job->settings->output.path, &work, err));
    BM_TRY_OUT(has_journal(work, &journal, err));
    if (!journal)
        BM_TRY_OUT(compare(job, out, err));
    if (*out != NULL)
        bm_out_claim_sweep(work);
out:
    /* killed behind its rename, the job left it */
    bm_free(work);
    return status;
}
