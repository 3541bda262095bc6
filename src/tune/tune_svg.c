/* tune_svg.c -- the plans as a picture: a panel for each text, side by side.
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
 * Bars are the expected pairs of each hundredth of similarity, on the axis at the left; curves are the
 * probability that a pair becomes a candidate, on the axis at the right. Three plans at most: the chosen one, the
 * cheapest and the dearest; they differ in colour, in their dashes and in the legend. Without documents there is one
 * panel, of curves alone. title and desc say in words what is to be seen, and each bar and curve has its numbers as
 * a tooltip.
 *
 * Tests: tests/unit/tune/test_tune_svg.c */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "model/file_heads.h"
#include "job/figure.h"
#include "tune/tune_result.h"

#define PANEL      580
#define LEFT       124
#define RIGHT      506
#define TOP        130
#define BOTTOM     372
#define CURVES_MAX 3

typedef struct drawing {
    bm_figure figure; /* of the panel at hand */
    const bm_tune_result *result;
    size_t curves[CURVES_MAX]; /* plans, the chosen one last, so that it is on top */
    size_t n_curves;
    double left; /* of the panel at hand */
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

/* `of` NULL: curves alone. */
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
