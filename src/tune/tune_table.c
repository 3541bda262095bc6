/* tune_table.c -- the result as tables of tab-separated rows, an empty line between two of them
 * (docs/formats.md). A table is known by its header line; numbers have up to six digits.
 *
 * Tests: tests/unit/tune/test_tune_api.c, tests/cli/cases/tune.sh */
#include <bandmill/sketch.h>

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "tune/tune_result.h"

const double bm_tune_steps[BM_TUNE_STEPS] = {0.001, 0.01, 0.5, 0.99, 0.999};

typedef struct page { /* errors stick */
    bm_buf buf;
    bm_status status;
    bm_error *err;
} page;

static void put(page *p, const char *text)
{
    if (p->status == BM_OK)
        p->status = bm_buf_add_text(&p->buf, text, p->err);
}

static void put_uint(page *p, uint64_t number, const char *end)
{
    if (p->status == BM_OK)
        p->status = bm_buf_add_format(&p->buf, p->err, "%" PRIu64 "%s", number, end);
}

/* NAN: nothing. */
static void put_real(page *p, double number, const char *end)
{
    if (p->status == BM_OK && !isnan(number))
        p->status = bm_buf_add_format(&p->buf, p->err, "%.6g", number);
    put(p, end);
}

static void put_plans(page *p, const bm_tune_result *r)
{
    put(p, "bands\trows\twords\tunused\trecall\tat_ceiling\tchosen\n");
    for (size_t i = 0; i < r->n_plans; i++) {
        const bm_tune_plan *plan = &r->plans[i];
        put_uint(p, plan->bands, "\t");
        put_uint(p, plan->rows, "\t");
        put_uint(p, plan->words, "\t");
        put_uint(p, plan->unused, "\t");
        put_real(p, plan->recall, "\t");
        put_real(p, plan->at_ceiling, "\t");
        put(p, i == r->chosen ? "yes\n" : "no\n");
    }
}

static void put_chosen(page *p, const bm_tune_result *r)
{
    const bm_tune_plan *plan = &r->plans[r->chosen];
    put(p, "\nbands\trows\tsteepest\tsteepest_about\tslope\tunused\n");
    put_uint(p, plan->bands, "\t");
    put_uint(p, plan->rows, "\t");
    put_real(p, plan->steepest, "\t");
    put_real(p, plan->steepest_about, "\t");
    put_real(p, plan->slope, "\t");
    put_uint(p, plan->unused, "\n");
    put(p, "\nsimilarity\tprobability\n");
    for (uint32_t i = 1; i <= BM_TUNE_LADDER; i++) {
        const double s = (double)i / BM_TUNE_LADDER;
        put_real(p, s, "\t");
        put_real(p, bm_band_probability(plan->bands, plan->rows, s), "\n");
    }
    put(p, "\nprobability\tsimilarity\n");
    for (size_t i = 0; i < BM_TUNE_STEPS; i++) {
        put_real(p, bm_tune_steps[i], "\t");
        put_real(p, bm_band_similarity(plan->bands, plan->rows, bm_tune_steps[i]), "\n");
    }
}

/* --- forecasts --- */

static void put_text(page *p, const char *text, const char *end)
{
    put(p, text);
    put(p, end);
}

static void put_total(page *p, double value, double error, const char *end)
{
    put_real(p, value, "\t");
    put_real(p, error, end);
}

static void put_samples(page *p, const bm_tune_result *r)
{
    put(p, "\nshingle\tdocuments\tempty\tidentical\tidentical_pairs\tdistinct\tsampled\t"
           "similar_pairs\tsimilar_pairs_error\tcandidates_low\tcandidates_high\n");
    for (size_t i = 0; i < r->n_samples; i++) {
        const bm_tune_sample *s = &r->samples[i].sample;
        put_text(p, s->shingle, "\t");
        put_uint(p, s->documents, "\t");
        put_uint(p, s->empty, "\t");
        put_uint(p, s->identical, "\t");
        put_uint(p, s->identical_pairs, "\t");
        put_uint(p, s->distinct, "\t");
        put_uint(p, s->sampled, "\t");
        put_total(p, s->similar_pairs, s->similar_pairs_error, "\t");
        put_total(p, s->candidates_low, s->candidates_high, "\n");
    }
}

static void put_forecasts(page *p, const bm_tune_result *r)
{
    put(p, "\nshingle\tbands\trows\tcandidates\tcandidates_error\tverified_pairs\t"
           "verified_pairs_error\tmissed_pairs\tmissed_pairs_error\n");
    for (size_t i = 0; i < r->n_samples; i++)
        for (size_t k = 0; k < r->n_plans; k++) {
            const bm_tune_forecast *f = &r->samples[i].forecasts[k];
            put_text(p, r->samples[i].sample.shingle, "\t");
            put_uint(p, r->plans[k].bands, "\t");
            put_uint(p, r->plans[k].rows, "\t");
            put_total(p, f->candidates, f->candidates_error, "\t");
            put_total(p, f->verified_pairs, f->verified_pairs_error, "\t");
            put_total(p, f->missed_pairs, f->missed_pairs_error, "\n");
        }
}

static void put_histograms(page *p, const bm_tune_result *r)
{
    put(p, "\nshingle\tlow\thigh\tsample_pairs\tpairs\tpairs_error\n");
    for (size_t i = 0; i < r->n_samples; i++)
        for (uint32_t k = 0; k < BM_TUNE_BINS; k++) {
            const bm_tune_documents *d = &r->samples[i];
            put_text(p, d->sample.shingle, "\t");
            put_real(p, (double)k / BM_TUNE_BINS, "\t");
            put_real(p, (double)(k + 1) / BM_TUNE_BINS, "\t");
            put_uint(p, d->sample_pairs[k], "\t");
            put_total(p, d->pairs[k], d->pairs_error[k], "\n");
        }
}

bm_status bm_tune_write_table(bm_tune_result *result, bm_error *err)
{
    page p = {.err = err};
    put_plans(&p, result);
    put_chosen(&p, result);
    if (result->n_samples > 0) {
        put_samples(&p, result);
        put_forecasts(&p, result);
        put_histograms(&p, result);
    }
    if (p.status == BM_OK)
        p.status = bm_buf_end(&p.buf, err);
    if (p.status != BM_OK) {
        bm_buf_reset(&p.buf);
        return p.status;
    }
    result->table = p.buf.data;
    return BM_OK;
}
