/* SPDX-License-Identifier: Apache-2.0 */
/* tune_write.c -- writes the result of `tune` as JSON, as a picture and as a table.
 *
 * Tests: tests/cli/cases/tune.sh, tests/unit/tune/test_tune_api.c,
 *        tests/unit/tune/test_tune_svg.c */
#include <bandmill/sketch.h>

#include <inttypes.h>
#include <math.h>

#include "job/figure.h"
#include "json/json_write.h"
#include "model/file_names.h"
#include "tune/tune_result.h"

/* === tune json ===
 *
 * Writes the result as one JSON object (docs/formats.md). */

static void write_goal(bm_json *json, const bm_tune_result *r)
{
    bm_json_key_uint(json, "perms", r->perms);
    bm_json_key_double(json, "threshold", r->bands.threshold);
    bm_json_key(json, "recall");
    if (r->bands.bands != 0) /* the caller chose bands and rows */
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
    bm_json_key_uint(json, "words", plan->used);
    bm_json_key_uint(json, "unused", plan->unused);
    bm_json_key_double(json, "recall", plan->recall);
    bm_json_key_double(json, "at_ceiling", plan->at_ceiling);
}

static void write_plans(bm_json *json, const bm_tune_result *r)
{
    bm_json_key_array(json, "plans");
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
    bm_json_key_object(json, "chosen");
    write_plan(json, plan);
    bm_json_key_double(json, "steepest", plan->steepest);
    bm_json_key_double(json, "steepest_about", plan->steepest_about);
    bm_json_key_double(json, "slope", plan->slope);
    bm_json_key_array(json, "curve");
    for (uint32_t i = 1; i <= BM_TUNE_LADDER; i++) {
        const double s = (double)i / BM_TUNE_LADDER;
        bm_json_begin_object(json);
        bm_json_key_double(json, "similarity", s);
        bm_json_key_double(json, "probability", bm_band_probability(plan->bands, plan->rows, s));
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_key_array(json, "steps");
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
    bm_json_key_array(json, "histogram");
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
    bm_json_key_array(json, "forecasts");
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
    bm_json_key_array(json, "samples");
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
    write_goal(&json, result);
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

/* === tune svg ===
 *
 * Draws the plans as a picture with a panel for each text setting, side by side.
 *
 *     0 +--------------------------------------------------+ 580   | next panel
 *       | word:5, line of words                            |
 *       | legend                                           |
 *       | pairs |  bars: pairs of the corpus  | P(s)       |
 *       | (log) |  curves: up to three plans  | 0 … 1      |
 *       |       +-----------------------------|            |
 *       |         similarity                               |
 *   430 +--------------------------------------------------+
 *
 * Bars show the expected number of pairs for each hundredth of similarity, by the left axis. Curves
 * show the probability that a pair becomes a candidate, by the right axis. At most three plans are
 * shown: the chosen plan, the cheapest and the most expensive. Their curves differ in colour and
 * dashes, which the legend explains. Without documents there is one panel with curves only. The
 * elements title and desc describe the picture in words. Each bar and each curve has a tooltip with
 * its numbers. */

#define PANEL      580
#define LEFT       124
#define RIGHT      506
#define TOP        130
#define BOTTOM     372
#define CURVES_MAX 3

typedef struct drawing {
    bm_figure figure; /* the figure of the current panel */
    const bm_tune_result *result;
    size_t curves[CURVES_MAX]; /* numbers of the shown plans; the chosen plan is last, so that its
                                * curve is on top */
    size_t n_curves;
    double left; /* x of the left edge of the current panel */
} drawing;

/* --- a panel --- */

static void choose_curves(drawing *d)
{
    const bm_tune_result *r = d->result;
    const size_t wanted[] = {r->n_plans - 1, 0};
    for (size_t i = 0; i < 2; i++)
        if (wanted[i] != r->chosen && (i == 0 || wanted[i] != wanted[0]))
            d->curves[d->n_curves++] = wanted[i];
    d->curves[d->n_curves++] = r->chosen;
}

static const char *class_of(const drawing *d, size_t plan)
{
    return plan == d->result->chosen ? "chosen" : plan == 0 ? "cheapest" : "dearest";
}

static void put_curves(drawing *d)
{
    const bm_tune_plan *plans = d->result->plans;
    double x = d->left + 24;
    for (size_t i = 0; i < d->n_curves; i++)
        bm_figure_curve(&d->figure, class_of(d, d->curves[i]), plans[d->curves[i]].bands,
                        plans[d->curves[i]].rows);
    for (size_t i = d->n_curves; i-- > 0;) {
        bm_figure_put(&d->figure,
                      "<line class=\"curve %s\" x1=\"%s\" x2=\"%s\" y1=\"78\" y2=\"78\"/>"
                      "<text x=\"%s\" y=\"82.5\">%" PRIu32 " x %" PRIu32 "%s</text>\n",
                      class_of(d, d->curves[i]), bm_svg_px(x).text, bm_svg_px(x + 28).text,
                      bm_svg_px(x + 34).text, plans[d->curves[i]].bands, plans[d->curves[i]].rows,
                      d->curves[i] == d->result->chosen ? " (chosen)" : "");
        x += 160;
    }
}

/* Draw a panel. If `of` is NULL, the panel has only curves. */
static void put_panel(drawing *d, const bm_tune_documents *of)
{
    bm_figure *f = &d->figure;
    f->left = d->left + LEFT;
    f->right = d->left + RIGHT;
    bm_figure_text(f, "head", d->left + 24, 32, of != NULL ? of->sample.shingle : "Band plans");
    if (of != NULL) {
        bm_figure_put(f,
                      "<text class=\"soft\" x=\"%s\" y=\"54\">%s distinct document%s, %s of them "
                      "compared with all others</text>\n",
                      bm_svg_px(d->left + 24).text, bm_svg_count(of->sample.distinct).text,
                      of->sample.distinct == 1 ? "" : "s", bm_svg_count(of->sample.sampled).text);
        bm_figure_scale(f, of->pairs, BM_TUNE_BINS);
        bm_figure_counts(f, "pairs of the corpus");
        bm_figure_bars(f, of->pairs, .25);
    }
    bm_figure_similarities(f, 20);
    bm_figure_chances(f);
    bm_figure_threshold(f, d->result->bands.threshold);
    put_curves(d);
}

/* --- the document --- */

static void put_description(drawing *d)
{
    const bm_tune_result *r = d->result;
    bm_figure_put(
        &d->figure,
        "<desc id=\"desc\">Probability that a pair becomes a candidate, by Jaccard similarity:");
    for (size_t i = d->n_curves; i-- > 0;) {
        const bm_tune_plan *plan = &r->plans[d->curves[i]];
        bm_figure_put(&d->figure,
                      " %" PRIu32 " band%s of %" PRIu32
                      " row%s%s find%s %s of the pairs at the threshold %s;",
                      plan->bands, plan->bands == 1 ? "" : "s", plan->rows,
                      plan->rows == 1 ? "" : "s", d->curves[i] == r->chosen ? " (chosen)" : "",
                      plan->bands == 1 ? "s" : "", bm_svg_share(plan->recall).text,
                      bm_svg_share(r->bands.threshold).text);
    }
    for (size_t i = 0; i < r->n_samples; i++) {
        const bm_tune_documents *of = &r->samples[i];
        bm_figure_put(
            &d->figure,
            " %s: expected pairs in steps of 0.01, %s of them at the threshold and above;",
            of->sample.shingle, bm_svg_count((uint64_t)llround(of->sample.similar_pairs)).text);
    }
    bm_figure_put(&d->figure, "</desc>\n");
}

bm_status bm_tune_svg(bm_buf *out, const bm_tune_result *result, bm_error *err)
{
    const size_t n = result->n_samples > 0 ? result->n_samples : 1;
    const uint32_t width = (uint32_t)(n * PANEL);
    drawing d = {.figure = {.out = out, .err = err, .top = TOP, .bottom = BOTTOM},
                 .result = result};
    choose_curves(&d);
    bm_figure_put(&d.figure, BM_HEAD_PLANS_PICTURE("%" PRIu32), width, width);
    put_description(&d);
    bm_figure_style(&d.figure);
    for (size_t i = 0; i < n; i++) {
        d.left = (double)i * PANEL;
        put_panel(&d, result->n_samples > 0 ? &result->samples[i] : NULL);
    }
    bm_figure_put(&d.figure, "</svg>\n");
    return d.figure.status;
}

/* === tune table ===
 *
 * Writes the result as tables of tab-separated rows (docs/formats.md). Empty lines separate the
 * tables. The header line of a table identifies it. Real numbers have up to six significant
 * digits. */

const double bm_tune_steps[BM_TUNE_STEPS] = {0.001, 0.01, 0.5, 0.99, 0.999};

typedef struct page { /* after a call has failed, later calls do nothing */
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

/* Write a number and `end`. NAN is written as an empty cell. */
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
        put_uint(p, plan->used, "\t");
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
