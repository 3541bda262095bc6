/* job_pairs.c -- every pair at or above the threshold, as rows.
 *
 * Tests: tests/unit/jobs/test_jobs.c */
#include <bandmill/job.h>

#include <stdio.h>

#include "base/error.h"
#include "output/out_dir.h"
#include "job/job_stages.h"
#include "job/settings_fields.h"
#include "jobs/pairing.h"
#include "job/rows.h"

/* Write the text to a file of its own, and forget it. */
static bm_status write_text(bm_job *job, const char *path, bm_buf *text, bm_error *err)
{
    bm_rows rows = {0};
    BM_TRY(bm_out_file_open(path, bm_out_existing_of(job->context.settings->output.force),
                            &rows.file, err));
    bm_status status = bm_out_file_write(rows.file, text->data, text->len, err);
    text->len = 0;
    return bm_rows_end_in(&rows, &job->files, status, err);
}

static void say_how(const bm_settings *s, char *out, size_t cap)
{
    static const char *const measures[] = {"", "verified exactly", "similarity by signature",
                                           "not verified"};
    if (s->pairs.candidates != BM_CANDIDATES_LSH)
        snprintf(out, cap, "every pair compared, exactly");
    else if (s->input.format == BM_FORMAT_KEYS)
        snprintf(out, cap, "candidates of band keys made elsewhere, not verified");
    else
        snprintf(out, cap, "candidates of %u bands of %u rows, %s", s->plan.bands, s->plan.rows,
                 measures[s->pairs.verify]);
}

static bm_status write_histogram(bm_job *job, const uint64_t *histogram, bm_error *err)
{
    const bm_job_context *context = &job->context;
    const bm_settings *s = context->settings;
    bm_buf text = {0};
    char how[128];
    say_how(s, how, sizeof how);
    bm_histogram_picture picture = {.bins = histogram,
                                    .threshold = s->bands.threshold,
                                    .n_documents = context->docs.n,
                                    .n_pairs = context->counts.results.pairs,
                                    .what = how};
    bm_status status = BM_OK;
    if (s->results.histogram != NULL) {
        BM_TRY_OUT(bm_histogram_tsv(&text, histogram, err));
        BM_TRY_OUT(write_text(job, s->results.histogram, &text, err));
    }
    if (s->results.histogram_svg != NULL) {
        BM_TRY_OUT(bm_histogram_svg(&text, &picture, err));
        BM_TRY_OUT(write_text(job, s->results.histogram_svg, &text, err));
    }
out:
    bm_buf_reset(&text);
    return status;
}

static bm_status read_texts(const bm_pairing *pairing, bm_pair_texts *out, bm_error *err)
{
    bm_job_context *context = &pairing->job->context;
    if (!pairing->has_text || !context->inputs.source->ops->has_text)
        return bm_fail_field(err, "edit", "`edit` needs texts, of which there are none");
    return bm_pair_texts_read(context, &pairing->match, out, err);
}

static bm_status write_pairs(const bm_pairing *pairing, bm_error *err)
{
    bm_job_context *context = &pairing->job->context;
    const bm_settings *s = context->settings;
    uint64_t histogram[BM_HISTOGRAM_BINS] = {0};
    bm_rows rows = {.write = s->results.write, .write_ctx = s->results.write_ctx};
    bm_pair_rows pairs = {.match = &pairing->match,
                          .docs = &context->docs,
                          .chain = s->pairs.identical == BM_IDENTICAL_CHAIN,
                          .measure = s->pairs.measure,
                          .json = s->results.json && s->output.path == NULL,
                          .histogram = histogram};
    bm_pair_texts texts = {0};
    if (s->pairs.edit)
        BM_TRY(read_texts(pairing, &texts, err));
    pairs.texts = s->pairs.edit ? &texts : NULL;
    bm_job_context_stage(context, BM_STAGE_WRITE, "pairs");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_rows_open(&rows, &s->output, err));
    status = bm_rows_pairs(&rows, &pairs, err);
    context->counts.results.edit_unknown = pairs.n_edit_unknown;
    context->counts.results.pairs = pairs.n_written;
    context->counts.results.identical_pairs = pairs.n_identical;
    status = bm_rows_end_in(&rows, &pairing->job->files, status, err);
    if (status == BM_OK)
        status = write_histogram(pairing->job, histogram, err);
out:
    bm_pair_texts_close(&texts);
    return status == BM_OK ? bm_job_finish(pairing->job, &(bm_job_ending){.dir = NULL}, err)
                           : status;
}

bm_status bm_job_pairs(const bm_pairs_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_pairs(options, &settings, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_settings_check_keys(&settings, err));
    status = bm_pairing_job(&settings, write_pairs, out, err);
out:
    bm_settings_reset(&settings);
    return status;
}
