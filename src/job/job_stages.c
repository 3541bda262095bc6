/* job_stages.c -- the plan of a job for its meter.
 *
 * Weights are shares of the time of signing, as measured on 120 MB of JSON Lines with two cores
 *; they only have to be near, for what a stage shows itself counts for more
 * (base/forecast.h).
 *
 * Tests: tests/cli/cases/progress.sh */
#include "job/job_stages.h"
#include "model/option_names.h"

#include "input/input_set.h"

typedef struct plan {
    bm_forecast_step steps[BM_FORECAST_STEPS];
    uint32_t n;
} plan;

static void add(plan *p, const char *stage, double weight)
{
    p->steps[p->n++] = (bm_forecast_step){stage, weight, NULL};
}

/* Until there are documents to pair, or all are signed. */
static void add_reading(plan *p, const bm_settings *s, bm_job_start start)
{
    const bool signs = bm_job_does(s, BM_JOB_SIGNS) || (s->pairs.candidates == BM_CANDIDATES_LSH &&
                                                        s->input.format != BM_FORMAT_KEYS);
    if (start != BM_START_DOCUMENTS)
        add(p, BM_STAGE_LOAD, 0.2);
    if (start == BM_START_SIGNATURES_AND_TEXTS)
        add(p, BM_STAGE_READ, 0.6);
    else if (start != BM_START_SIGNATURES)
        add(p, signs ? BM_STAGE_SIGN : BM_STAGE_READ, start == BM_START_RESUMED_WHOLE ? 0 : 1);
}

static void add_matching(plan *p, const bm_settings *s)
{
    if (s->pairs.candidates == BM_CANDIDATES_LSH) {
        add(p, BM_STAGE_MATCH,
            bm_verify_reads_sets(s->pairs.verify)    ? 0.35
            : s->pairs.verify == BM_VERIFY_SIGNATURE ? 0.15
                                                     : 0.1);
        return;
    }
    add(p, BM_STAGE_MATCH, 2);
    p->steps[p->n - 1].within = BM_STAGE_COMPARE;
}

static bool is_compressed(const bm_input_set *set)
{
    return set != NULL && bm_input_set_count(set) > 0 &&
           bm_input_set_source(set, 0)->compression != BM_COMPRESSION_NONE;
}

static double weight_of_writing(const bm_job_context *job, bm_kept kept)
{
    if (kept == BM_KEPT_NO)
        return 0.05;
    const bool compresses = kept == BM_KEPT_GZ || kept == BM_KEPT_ZST ||
                            (kept == BM_KEPT_SAME && is_compressed(job->inputs.set));
    return compresses ? 3 : 0.5;
}

/* Of copying records: what is kept is most of them. */
static double weight_of_copying(const bm_job_context *job, bool texts)
{
    const bm_result_settings *results = &job->settings->results;
    const double kept = weight_of_writing(job, texts ? results->kept : BM_KEPT_NO);
    return kept < 0.5 && bm_settings_write_removed(job->settings)
               ? weight_of_writing(job, results->removed)
               : kept;
}

void bm_job_context_plan(bm_job_context *job, bm_job_start start)
{
    const bm_settings *s = job->settings;
    const bm_job_row *row = bm_job_row_of(s);
    plan p = {.n = 0};
    if (bm_job_does(s, BM_JOB_FILLS_INDEX)) { /* most is written while the rest is read */
        add(&p, BM_STAGE_SIGN, 1);
        add(&p, BM_STAGE_WRITE, row->write_weight);
        bm_meter_plan(&job->meter, p.steps, p.n);
        return;
    }
    if (!bm_job_does(s, BM_JOB_COPIES))
        add_reading(&p, s, start);
    else if (s->recorded.read_twice)
        add(&p, BM_STAGE_READ, 0.5);
    if (s->pairs.against != NULL)
        add(&p, BM_STAGE_KNOWN, 0.5);
    if (bm_job_does(s, BM_JOB_MATCHES))
        add_matching(&p, s);
    if (bm_job_does(s, BM_JOB_GROUPS))
        add(&p, BM_STAGE_GROUP, 0.03);
    if (bm_job_does(s, BM_JOB_COMPARES)) {
        add(&p, BM_STAGE_COMPARE, 1);
        bm_meter_plan(&job->meter, p.steps, p.n);
        return;
    }
    if (bm_job_does(s, BM_JOB_COPIES))
        add(&p, BM_STAGE_COPY, weight_of_copying(job, true));
    else if (bm_job_does(s, BM_JOB_GROUPS))
        add(&p, BM_STAGE_WRITE, weight_of_copying(job, start != BM_START_SIGNATURES));
    else
        add(&p, BM_STAGE_WRITE, row->write_weight);
    if (row->seal_weight > 0)
        add(&p, BM_STAGE_SEAL, row->seal_weight);
    bm_meter_plan(&job->meter, p.steps, p.n);
}
