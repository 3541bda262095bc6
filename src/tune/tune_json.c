/* tune_json.c -- the result as one JSON object (docs/formats.md).
 *
 * Tests: tests/unit/tune/test_tune_api.c, tests/cli/cases/tune.sh */
#include <bandmill/sketch.h>

#include "json/json_write.h"
#include "tune/tune_result.h"

static void write_wish(bm_json *json, const bm_tune_result *r)
{
    bm_json_key_uint(json, "perms", r->perms);
    bm_json_key_double(json, "threshold", r->bands.threshold);
    bm_json_key(json, "recall");
    if (r->bands.bands != 0) /* a plan by hand */
        bm_json_text(json, NULL);
    else
        bm_json_double(json, r->bands.recall);
    bm_json_key(json, "ceiling");
    if (r->ceiling_similarity > 0) {
        bm_json_begin_object(json);
        bm_json_key_double(json, "similarity", r->ceiling_similarity);
        bm_json_key_double(json, "probability", r->ceiling_probability);
        bm_json_end_object(json);
    } else {
        bm_json_text(json, NULL);
    }
}

static void write_plan(bm_json *json, const bm_tune_plan *plan)
{
    bm_json_key_uint(json, "bands", plan->bands);
    bm_json_key_uint(json, "rows", plan->rows);
    bm_json_key_uint(json, "words", plan->words);
    bm_json_key_uint(json, "unused", plan->unused);
    bm_json_key_double(json, "recall", plan->recall);
    bm_json_key_double(json, "at_ceiling", plan->at_ceiling);
}

static void write_plans(bm_json *json, const bm_tune_result *r)
{
    bm_json_key(json, "plans");
    bm_json_begin_array(json);
    for (size_t i = 0; i < r->n_plans; i++) {
        bm_json_begin_object(json);
        write_plan(json, &r->plans[i]);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void write_chosen(bm_json *json, const bm_tune_result *r)
{
    const bm_tune_plan *plan = &r->plans[r->chosen];
    bm_json_key(json, "chosen");
    bm_json_begin_object(json);
    write_plan(json, plan);
    bm_json_key_double(json, "steepest", plan->steepest);
    bm_json_key_double(json, "steepest_about", plan->steepest_about);
    bm_json_key_double(json, "slope", plan->slope);
    bm_json_key(json, "curve");
    bm_json_begin_array(json);
    for (uint32_t i = 1; i <= BM_TUNE_LADDER; i++) {
        const double s = (double)i / BM_TUNE_LADDER;
        bm_json_begin_object(json);
        bm_json_key_double(json, "similarity", s);
        bm_json_key_double(json, "probability", bm_band_probability(plan->bands, plan->rows, s));
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_key(json, "steps");
    bm_json_begin_array(json);
    for (size_t i = 0; i < BM_TUNE_STEPS; i++) {
        const double p = bm_tune_steps[i];
        bm_json_begin_object(json);
        bm_json_key_double(json, "probability", p);
        bm_json_key_double(json, "similarity", bm_band_similarity(plan->bands, plan->rows, p));
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_end_object(json);
}

static void write_total(bm_json *json, const char *name, const char *error_name, const double *of)
{
    bm_json_key_double(json, name, of[0]);
    bm_json_key_double(json, error_name, of[1]);
}

static void write_histogram(bm_json *json, const bm_tune_documents *d)
{
    bm_json_key(json, "histogram");
    bm_json_begin_array(json);
    for (uint32_t k = 0; k < BM_TUNE_BINS; k++) {
        bm_json_begin_object(json);
        bm_json_key_double(json, "low", (double)k / BM_TUNE_BINS);
        bm_json_key_double(json, "high", (double)(k + 1) / BM_TUNE_BINS);
        bm_json_key_uint(json, "sample_pairs", d->sample_pairs[k]);
        write_total(json, "pairs", "pairs_error", (double[]){d->pairs[k], d->pairs_error[k]});
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void write_forecasts(bm_json *json, const bm_tune_result *r, const bm_tune_documents *d)
{
    bm_json_key(json, "forecasts");
    bm_json_begin_array(json);
    for (size_t k = 0; k < r->n_plans; k++) {
        const bm_tune_forecast *f = &d->forecasts[k];
        bm_json_begin_object(json);
        bm_json_key_uint(json, "bands", r->plans[k].bands);
        bm_json_key_uint(json, "rows", r->plans[k].rows);
        write_total(json, "candidates", "candidates_error",
                    (double[]){f->candidates, f->candidates_error});
        write_total(json, "verified_pairs", "verified_pairs_error",
                    (double[]){f->verified_pairs, f->verified_pairs_error});
        write_total(json, "missed_pairs", "missed_pairs_error",
                    (double[]){f->missed_pairs, f->missed_pairs_error});
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void write_samples(bm_json *json, const bm_tune_result *r)
{
    bm_json_key(json, "samples");
    bm_json_begin_array(json);
    for (size_t i = 0; i < r->n_samples; i++) {
        const bm_tune_sample *s = &r->samples[i].sample;
        bm_json_begin_object(json);
        bm_json_key_text(json, "shingle", s->shingle);
        bm_json_key_uint(json, "documents", s->documents);
        bm_json_key_uint(json, "empty", s->empty);
        bm_json_key_uint(json, "identical", s->identical);
        bm_json_key_uint(json, "identical_pairs", s->identical_pairs);
        bm_json_key_uint(json, "distinct", s->distinct);
        bm_json_key_uint(json, "sampled", s->sampled);
        write_total(json, "similar_pairs", "similar_pairs_error",
                    (double[]){s->similar_pairs, s->similar_pairs_error});
        bm_json_key_double(json, "candidates_low", s->candidates_low);
        bm_json_key_double(json, "candidates_high", s->candidates_high);
        write_forecasts(json, r, &r->samples[i]);
        write_histogram(json, &r->samples[i]);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

bm_status bm_tune_write_json(bm_tune_result *result, bm_error *err)
{
    bm_json json = {0};
    bm_json_begin_object(&json);
    bm_json_key_uint(&json, "schema", 1);
    bm_json_key_text(&json, "kind", "tune");
    write_wish(&json, result);
    write_plans(&json, result);
    write_chosen(&json, result);
    if (result->n_samples > 0)
        write_samples(&json, result);
    bm_json_end_object(&json);
    bm_status status = bm_json_finish(&json, err);
    if (status == BM_OK)
        result->json = json.buf.data;
    else
        bm_buf_reset(&json.buf);
    return status;
}
