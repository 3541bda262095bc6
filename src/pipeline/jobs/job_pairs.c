/* job_pairs.c -- every pair at or above the threshold, as rows. */
#include <bandmill/job.h>

#include <stdio.h>

#include "base/error.h"
#include "io/output/out_dir.h"
#include "pipeline/jobs/pairing.h"
#include "pipeline/output/report.h"
#include "pipeline/output/rows.h"

/* Write the text to a file of its own, and forget it. */
static bm_status write_text(const bm_job *job, const char *path, bm_buf *text, bm_error *err)
{
    bm_out_file *file = NULL;
    bm_status status = bm_out_file_open(path, job->force, &file, err);
    if (status == BM_OK) {
        status = bm_out_file_write(file, text->data, text->len, err);
        if (status == BM_OK)
            status = bm_out_file_close(file, err);
        else
            bm_out_file_abort(file);
    }
    text->len = 0;
    return status;
}

static void say_how(const bm_job_context *run, char *out, size_t cap)
{
    static const char *const measures[] = {"", "verified exactly", "similarity by signature",
                                           "not verified"};
    if (run->job->all_candidates)
        snprintf(out, cap, "every pair compared, exactly");
    else
        snprintf(out, cap, "candidates of %u bands of %u rows, %s", run->plan.bands, run->plan.rows,
                 measures[run->verify]);
}

static bm_status write_histogram(const bm_job_context *run, const uint64_t *histogram,
                                 bm_error *err)
{
    const bm_job *job = run->job;
    bm_buf text = {0};
    char how[128];
    say_how(run, how, sizeof how);
    bm_histogram_picture picture = {.bins = histogram,
                                    .threshold = job->lsh.threshold,
                                    .n_documents = run->docs.n,
                                    .n_pairs = run->counts.edges,
                                    .what = how};
    bm_status status = BM_OK;
    if (job->histogram != NULL) {
        status = bm_histogram_tsv(&text, histogram, err);
        if (status == BM_OK)
            status = write_text(job, job->histogram, &text, err);
    }
    if (status == BM_OK && job->histogram_svg != NULL) {
        status = bm_histogram_svg(&text, &picture, err);
        if (status == BM_OK)
            status = write_text(job, job->histogram_svg, &text, err);
    }
    bm_buf_reset(&text);
    return status;
}

static bm_status write_pairs(bm_job_context *run, const bm_pairing *pairing, bm_error *err)
{
    const bm_job *job = run->job;
    uint64_t histogram[BM_HISTOGRAM_BINS] = {0};
    bm_rows rows = {.write = job->write, .write_ctx = job->write_ctx};
    bm_pair_rows pairs = {.match = &pairing->match,
                          .docs = &run->docs,
                          .chain = job->identical_chain,
                          .json = job->json && job->output == NULL,
                          .histogram = histogram};
    bm_status status = BM_OK;
    if (job->output != NULL)
        status = bm_out_file_open(job->output, job->force, &rows.file, err);
    if (status != BM_OK)
        return status;
    status = bm_rows_pairs(&rows, &pairs, err);
    bm_rows_reset(&rows);
    run->counts.edges = pairs.n_written;
    if (rows.file != NULL && status != BM_OK)
        bm_out_file_abort(rows.file);
    else if (rows.file != NULL)
        status = bm_out_file_close(rows.file, err);
    if (status == BM_OK)
        status = write_histogram(run, histogram, err);
    return status;
}

bm_status bm_job_pairs(const bm_job *job, bm_summary **out, bm_error *err)
{
    bm_job_context run;
    bm_pairing pairing = {0};
    bm_summary *summary = NULL;
    bm_status status = bm_job_context_open(job, "pairs", &run, err);
    if (status != BM_OK)
        return status;
    if (job->all_candidates && job->lsh.verify != BM_VERIFY_AUTO &&
        job->lsh.verify != BM_VERIFY_EXACT)
        status = bm_fail(err, BM_ERR_USAGE, "--candidates all compares exactly (--verify exact)");
    if (status == BM_OK)
        status = bm_pairing_run(&run, false, false, false, &pairing, err);
    if (status == BM_OK) {
        run.counts.identical = pairing.corpus.n_identical;
        run.counts.candidates = pairing.match.result.counts.candidates;
        run.counts.verified = pairing.match.result.counts.verified;
        bm_job_context_stage(&run, "write", "pairs");
        status = write_pairs(&run, &pairing, err);
    }
    if (status == BM_OK)
        status = bm_report_make(&run, NULL, NULL, &summary, err);
    if (status == BM_OK)
        status = bm_report_write(&run, summary, NULL, NULL, err);
    bm_pairing_reset(&pairing);
    bm_job_context_close(&run);
    if (status != BM_OK) {
        bm_summary_free(summary);
        return status;
    }
    *out = summary;
    return BM_OK;
}
