/* job_query.c -- documents against an index, or against an index of other documents that is made for the call.
 *
 *     index, or targets -> view
 *     queries -> ingest -> batches of thousands (query_documents.h) -> search -> rows
 *     or, followed: a line -> rows, a line -> rows ... (query_follow.h)
 *
 * Memory: the batches of the ingest, two batches of queries, and what a batch finds. The index itself is a map of its
 * file.
 *
 * Tests: tests/unit/jobs/test_public_api_query.c, tests/cli/cases/query.sh, tests/reference/test_query.py */
#include <bandmill/index.h>

#include <sys/resource.h>

#include "base/error.h"
#include "model/scheme_facts.h"
#include "results/sign_dir.h"
#include "output/out_dir.h"
#include "lsh/band_plan.h"
#include "job/job_stages.h"
#include "index/index_place.h"
#include "index/query_documents.h"
#include "index/query_follow.h"
#include "index/query_targets.h"
#include "job/rows.h"
#include "job/job_steps.h"

#define FEW_BYTES ((uint64_t)256 << 20) /* of queries: not worth starting a driver for */

typedef struct query {
    bm_settings *settings;
    bm_job job;
    bm_query_source source;
    bm_search_cfg search;
    bm_rows rows;
    bm_answer_rows answers;
    struct rusage before;
} query;

/* --- what is searched, and how --- */

static bm_status check_measure(query *q, bm_error *err)
{
    if (q->search.measure == BM_MEASURE_JACCARD)
        return BM_OK;
    if (q->search.facts->kind != BM_STORE_SETS)
        return bm_fail_field(err, "measure",
                             "`measure` containment needs sets, the index %s keeps signatures",
                             q->source.path);
    if (q->source.path != NULL && bm_store_view_filters(q->source.view) == 0)
        bm_meter_log(&q->job.context.meter, BM_LOG_INFO,
                     "the index has no table for containment: its %llu documents are scanned",
                     (unsigned long long)bm_store_view_counts(q->source.view).documents);
    return BM_OK;
}

static bm_status check_verify(const query *q, bm_error *err)
{
    const bm_verify verify = q->settings->pairs.verify;
    const bool sets = q->search.facts->kind == BM_STORE_SETS;
    if (verify == BM_VERIFY_AUTO || (verify == BM_VERIFY_EXACT) == sets)
        return BM_OK;
    return bm_fail_field(err, "verify",
                         sets ? "`verify` signature contradicts the index %s (it keeps sets)"
                              : "`verify` exact contradicts the index %s (it keeps "
                                "signatures: answers are estimates)",
                         q->source.path);
}

/* Another threshold than that of the plan changes the recall, which is told. */
static void settle_threshold(query *q)
{
    bm_settings *s = q->settings;
    const double own = s->bands.threshold, asked = s->index.query.answers.threshold;
    q->search.threshold = asked > 0 ? asked : own;
    if (q->search.threshold == own)
        return;
    if (q->search.measure == BM_MEASURE_CONTAINMENT) {
        s->bands.threshold = q->search.threshold;
        return;
    }
    const double recall = bm_band_probability(s->plan.bands, s->plan.rows, q->search.threshold);
    bm_meter_log(&q->job.context.meter, BM_LOG_INFO,
                 "the bands were chosen for `threshold` %g: they find %.1f %% of the pairs at %g",
                 own, 100 * recall, q->search.threshold);
    s->bands.threshold = s->plan.threshold = q->search.threshold;
    s->plan.predicted_recall = recall;
}

static bm_status open_source(query *q, bm_error *err)
{
    bm_settings *s = q->settings;
    const bm_query_settings *asked = &s->index.query;
    BM_TRY(asked->index != NULL ? bm_query_source_open(asked->index, s, &q->source, err)
                                : bm_query_targets_open(&q->job.context, s, &q->source, err));
    q->search = (bm_search_cfg){.view = q->source.view,
                                .facts = bm_store_facts_of(q->source.store),
                                .word_bytes = bm_scheme_word_bytes(s->sketch.scheme),
                                .pool = q->job.context.pool,
                                .measure = s->pairs.measure,
                                .top = asked->answers.top,
                                .skip_same_id = asked->answers.skip_same_id,
                                .first = BM_SEARCH_FIRST,
                                .memory = bm_index_share(s->memory).search};
    settle_threshold(q);
    BM_TRY(check_verify(q, err));
    s->pairs.verify =
        q->search.facts->kind == BM_STORE_SETS ? BM_VERIFY_EXACT : BM_VERIFY_SIGNATURE;
    return check_measure(q, err);
}

/* --- the rows --- */

static bm_status open_rows(query *q, bm_error *err)
{
    const bm_settings *s = q->settings;
    q->rows = (bm_rows){.write = s->results.write, .write_ctx = s->results.write_ctx};
    q->answers = (bm_answer_rows){.rows = &q->rows,
                                  .view = q->source.view,
                                  .meter = &q->job.context.meter,
                                  .measure = s->pairs.measure,
                                  .json = s->results.json && s->output.path == NULL};
    if (s->output.path == NULL)
        return BM_OK;
    return bm_out_file_open(s->output.path, bm_out_existing_within(s->output.force, s->memory),
                            &q->rows.file, err);
}

/* A driver takes longer to start than the native CPU for so little. */
static void settle_device(query *q)
{
    bm_settings *s = q->settings;
    if (s->device.device == NULL && bm_input_set_total_bytes(q->job.context.inputs.set) < FEW_BYTES)
        s->device.device = "cpu";
}

static bm_status answer_documents(query *q, bm_error *err)
{
    const bm_index_shares shares = bm_index_share(q->settings->memory);
    const bm_query_documents documents = {
        .job = &q->job.context, .search = &q->search, .rows = &q->answers, .gather = shares.gather};
    settle_device(q);
    BM_TRY(bm_job_begin(&q->job, BM_STEP_DEVICES | BM_STEP_KEYS, err));
    bm_job_context_take(&q->job.context, 2 * shares.gather + shares.search);
    bm_job_context_stage(&q->job.context, BM_STAGE_QUERY, "bytes");
    return bm_query_documents_run(&documents, err);
}

static bm_status answer_lines(query *q, bm_error *err)
{
    bm_follow follow = {
        .job = &q->job.context, .source = &q->source, .search = q->search, .rows = &q->answers};
    bm_status status = bm_query_follow(&follow, err);
    q->job.context.counts.candidates = follow.result.candidates;
    q->job.context.counts.verified = follow.result.verified;
    q->job.context.counts.not_compared = follow.result.not_compared;
    bm_answer_rows_end(&q->answers, &follow.result);
    bm_search_result_reset(&follow.result);
    return status;
}

/* --- the job --- */

static void say_faults(query *q)
{
    struct rusage now = {0};
    const double n =
        q->job.context.counts.documents > 0 ? (double)q->job.context.counts.documents : 1;
    getrusage(RUSAGE_SELF, &now);
    bm_meter_log(&q->job.context.meter, BM_LOG_DEBUG,
                 "pages a query: %.2f read from the disk, %.2f found in memory",
                 (double)(now.ru_majflt - q->before.ru_majflt) / n,
                 (double)(now.ru_minflt - q->before.ru_minflt) / n);
}

static bm_status run_steps(query *q, bm_error *err)
{
    const bm_query_settings *asked = &q->settings->index.query;
    bm_counts *counts = &q->job.context.counts;
    BM_TRY(bm_sign_dir_refuse(q->settings->input.paths, q->settings->input.n_paths,
                              q->settings->memory, err));
    BM_TRY(bm_sign_dir_refuse(asked->targets, asked->n_targets, q->settings->memory, err));
    if (asked->index != NULL)
        BM_TRY(bm_job_context_check_outputs(q->settings, &asked->index, 1, err));
    if (asked->n_targets > 0)
        BM_TRY(bm_job_context_check_outputs(q->settings, asked->targets, asked->n_targets, err));
    /* Before targets are read, which may take long. */
    BM_TRY(bm_job_begin(&q->job, asked->follow ? 0 : BM_STEP_INPUTS, err));
    BM_TRY(open_source(q, err));
    BM_TRY(open_rows(q, err));
    getrusage(RUSAGE_SELF, &q->before);
    bm_status status = asked->follow ? answer_lines(q, err) : answer_documents(q, err);
    say_faults(q);
    if (q->search.measure == BM_MEASURE_CONTAINMENT)
        q->settings->plan = (bm_band_plan){0}; /* of no use to it */
    counts->edges = counts->results.pairs = q->answers.n_rows;
    status = bm_rows_end_in(&q->rows, &q->job.files, status, err);
    return status == BM_OK ? bm_job_finish(&q->job, &(bm_job_ending){.dir = NULL}, err) : status;
}

bm_status bm_job_query(const bm_query_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    query q = {.settings = &settings};
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_query(options, &settings, err));
    bm_status status = bm_job_open(&settings, &q.job, err);
    if (status == BM_OK) {
        status = run_steps(&q, err);
        bm_query_source_close(&q.source);
        status = bm_job_close(&q.job, status, out);
    }
    bm_settings_reset(&settings);
    if (status == BM_OK && q.answers.n_matched == 0)
        return bm_fail(err, BM_NOT_FOUND, "no document reaches the threshold %g with a query",
                       q.search.threshold);
    return status;
}
