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

#include <bandmill/sketch.h>

#include "base/error.h"
#include "model/file_heads.h"
#include "pipeline/output/svg_plot.h"
#include "pipeline/tune/tune_result.h"

#define PANEL      580
#define LEFT       124
#define RIGHT      516
#define TOP        108
#define BOTTOM     350
#define CURVES_MAX 3
#define STEPS      200 /* of a curve */

typedef struct drawing { /* errors stick */
    bm_buf *out;
    const bm_tune_result *result;
    size_t curves[CURVES_MAX]; /* plans, the chosen one last, so that it is on top */
    size_t n_curves;
    double left; /* of the panel at hand */
    bm_status status;
    bm_error *err;
} drawing;

static const char *const curve_classes[CURVES_MAX] = {"dearest", "cheapest", "chosen"};

#define PUT(d, ...)                                                                                \
    ((d)->status =                                                                                 \
         (d)->status == BM_OK ? bm_buf_add_format((d)->out, (d)->err, __VA_ARGS__) : (d)->status)

static double x_of(const drawing *d, double similarity)
{
    return d->left + LEFT + similarity * (RIGHT - LEFT);
}

static double y_of(double share)
{
    return BOTTOM - share * (BOTTOM - TOP);
}

static bm_svg_text x_text(const drawing *d, double similarity)
{
    return bm_svg_px(x_of(d, similarity));
}

/* --- curves --- */

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
    if (plan == d->result->chosen)
        return curve_classes[2];
    return curve_classes[plan == 0 ? 1 : 0];
}

static void put_curve(drawing *d, size_t index)
{
    const bm_tune_plan *plan = &d->result->plans[index];
    PUT(d, "<path class=\"curve %s\" d=\"", class_of(d, index));
    for (uint32_t i = 0; i <= STEPS; i++) {
        const double s = (double)i / STEPS;
        PUT(d, "%s%s %s", i == 0 ? "M" : "L", x_text(d, s).text,
            bm_svg_px(y_of(bm_band_probability(plan->bands, plan->rows, s))).text);
    }
    PUT(d, "\"><title>%" PRIu32 " bands of %" PRIu32 " rows: %s at the threshold</title></path>\n",
        plan->bands, plan->rows, bm_svg_share(plan->recall).text);
}

static void put_legend(drawing *d)
{
    double x = d->left + LEFT;
    for (size_t i = d->n_curves; i-- > 0;) {
        const bm_tune_plan *plan = &d->result->plans[d->curves[i]];
        PUT(d,
            "<line class=\"curve %s\" x1=\"%s\" x2=\"%s\" y1=\"82\" y2=\"82\"/>"
            "<text x=\"%s\" y=\"86.5\">%" PRIu32 " x %" PRIu32 "%s</text>\n",
            class_of(d, d->curves[i]), bm_svg_px(x).text, bm_svg_px(x + 28).text,
            bm_svg_px(x + 34).text, plan->bands, plan->rows,
            d->curves[i] == d->result->chosen ? " (chosen)" : "");
        x += 150;
    }
}

/* --- a panel --- */

static void put_bars(drawing *d, const bm_tune_documents *of, const bm_svg_axis *axis)
{
    for (uint32_t i = 0; i < BM_TUNE_BINS; i++) {
        const double low = (double)i / BM_TUNE_BINS, x = x_of(d, low);
        const double share = bm_svg_axis_share(axis, of->pairs[i]);
        if (share > 0)
            PUT(d,
                "<rect class=\"bar\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" "
                "data-low=\"0.%02u\" "
                "data-pairs=\"%" PRIu64 "\"><title>0.%02u to %u.%02u: %s pairs</title></rect>\n",
                bm_svg_px(x + .25).text, bm_svg_px(y_of(share)).text,
                bm_svg_px(x_of(d, low + .01) - x - .5).text, bm_svg_px(share * (BOTTOM - TOP)).text,
                i, (uint64_t)llround(of->pairs[i]), i, (i + 1) / 100, (i + 1) % 100,
                bm_svg_count((uint64_t)llround(of->pairs[i])).text);
    }
}

static void put_counts(drawing *d, const bm_svg_axis *axis)
{
    const double left = x_of(d, 0);
    for (uint64_t tick = bm_svg_axis_first(axis); d->status == BM_OK && (double)tick <= axis->top;
         tick = bm_svg_axis_next(axis, tick)) {
        const double y = y_of(bm_svg_axis_share(axis, (double)tick));
        PUT(d,
            "<line class=\"grid\" x1=\"%s\" x2=\"%s\" y1=\"%s\" y2=\"%s\"/>"
            "<text class=\"num\" x=\"%s\" y=\"%s\">%s</text>\n",
            bm_svg_px(left).text, x_text(d, 1).text, bm_svg_px(y).text, bm_svg_px(y).text,
            bm_svg_px(left - 8).text, bm_svg_px(y + 4.5).text, bm_svg_count(tick).text);
    }
    PUT(d,
        "<text class=\"mid\" transform=\"translate(%s %d) rotate(-90)\">pairs of the "
        "corpus%s</text>\n",
        bm_svg_px(d->left + 16).text, (TOP + BOTTOM) / 2, axis->log ? " (log scale)" : "");
}

static void put_axes(drawing *d)
{
    for (uint32_t i = 0; i <= 10; i += 2) {
        const double share = i / 10.0;
        const bm_svg_text y = bm_svg_px(y_of(share));
        PUT(d,
            "<line class=\"axis\" x1=\"%s\" x2=\"%s\" y1=\"%s\" y2=\"%s\"/>"
            "<text x=\"%s\" y=\"%s\">%s</text>\n",
            x_text(d, 1).text, bm_svg_px(x_of(d, 1) + 5).text, y.text, y.text,
            bm_svg_px(x_of(d, 1) + 9).text, bm_svg_px(y_of(share) + 4.5).text,
            bm_svg_share(share).text);
        PUT(d,
            "<line class=\"axis\" x1=\"%s\" x2=\"%s\" y1=\"%d\" y2=\"%d\"/>"
            "<text class=\"mid\" x=\"%s\" y=\"%d\">%s</text>\n",
            x_text(d, share).text, x_text(d, share).text, BOTTOM, BOTTOM + 5, x_text(d, share).text,
            BOTTOM + 21, bm_svg_share(share).text);
    }
    PUT(d, "<path class=\"axis\" fill=\"none\" d=\"M%s %dL%s %dL%s %d\"/>\n", x_text(d, 0).text,
        BOTTOM, x_text(d, 1).text, BOTTOM, x_text(d, 1).text, TOP);
    PUT(d,
        "<text class=\"mid\" x=\"%s\" y=\"%d\">Jaccard similarity</text>\n"
        "<text class=\"mid\" transform=\"translate(%s %d) rotate(90)\">probability</text>\n",
        x_text(d, .5).text, BOTTOM + 46, bm_svg_px(d->left + PANEL - 22).text, (TOP + BOTTOM) / 2);
}

static void put_threshold(drawing *d)
{
    const double threshold = d->result->bands.threshold;
    const bool at_right = threshold > .7; /* no room for its words on the right */
    PUT(d,
        "<line class=\"threshold\" x1=\"%s\" x2=\"%s\" y1=\"%d\" y2=\"%d\"/>"
        "<text class=\"mark%s\" x=\"%s\" y=\"%d\">threshold %s</text>\n",
        x_text(d, threshold).text, x_text(d, threshold).text, TOP - 10, BOTTOM,
        at_right ? " num" : "", bm_svg_px(x_of(d, threshold) + (at_right ? -6 : 6)).text, TOP - 2,
        bm_svg_share(threshold).text);
}

/* `of` NULL: curves alone. */
static void put_panel(drawing *d, const bm_tune_documents *of)
{
    const double x = d->left + 24;
    if (of != NULL) {
        const bm_svg_axis axis = bm_svg_axis_of(of->pairs, BM_TUNE_BINS);
        PUT(d,
            "<text class=\"head\" x=\"%s\" y=\"32\">%s</text>\n<text x=\"%s\" y=\"54\">%s distinct "
            "documents, %s of them compared with all others</text>\n",
            bm_svg_px(x).text, of->sample.shingle, bm_svg_px(x).text,
            bm_svg_count(of->sample.distinct).text, bm_svg_count(of->sample.sampled).text);
        put_counts(d, &axis);
        put_bars(d, of, &axis);
    } else {
        PUT(d, "<text class=\"head\" x=\"%s\" y=\"32\">Band plans</text>\n", bm_svg_px(x).text);
    }
    put_axes(d);
    put_threshold(d);
    for (size_t i = 0; i < d->n_curves; i++)
        put_curve(d, d->curves[i]);
    put_legend(d);
}

/* --- the document --- */

static void put_description(drawing *d)
{
    const bm_tune_result *r = d->result;
    PUT(d, "<desc id=\"desc\">Probability that a pair becomes a candidate, by Jaccard similarity:");
    for (size_t i = d->n_curves; i-- > 0;) {
        const bm_tune_plan *plan = &r->plans[d->curves[i]];
        PUT(d, " %" PRIu32 " bands of %" PRIu32 " rows%s find %s of the pairs at the threshold %s;",
            plan->bands, plan->rows, d->curves[i] == r->chosen ? " (chosen)" : "",
            bm_svg_share(plan->recall).text, bm_svg_share(r->bands.threshold).text);
    }
    for (size_t i = 0; i < r->n_samples; i++) {
        const bm_tune_documents *of = &r->samples[i];
        PUT(d, " %s: expected pairs in steps of 0.01, %s of them at the threshold and above;",
            of->sample.shingle, bm_svg_count((uint64_t)llround(of->sample.similar_pairs)).text);
    }
    PUT(d, "</desc>\n");
}

bm_status bm_tune_svg(bm_buf *out, const bm_tune_result *result, bm_error *err)
{
    const size_t n = result->n_samples > 0 ? result->n_samples : 1;
    const uint32_t width = (uint32_t)(n * PANEL);
    drawing d = {.out = out, .result = result, .err = err};
    choose_curves(&d);
    PUT(&d, BM_HEAD_PLANS_PICTURE("%" PRIu32), width, width);
    put_description(&d);
    PUT(&d,
        "<style>" BM_SVG_STYLE ".bar{fill:#a9c4d8}.curve{fill:none;stroke-width:2.2}"
        ".chosen{stroke:#d55e00}.cheapest{stroke:#009e73;stroke-dasharray:9 4}"
        ".dearest{stroke:#000;stroke-dasharray:2 3}</style>\n"
        "<rect width=\"%" PRIu32 "\" height=\"430\" fill=\"#fff\"/>\n",
        width);
    for (size_t i = 0; i < n; i++) {
        d.left = (double)i * PANEL;
        put_panel(&d, result->n_samples > 0 ? &result->samples[i] : NULL);
    }
    PUT(&d, "</svg>\n");
    return d.status;
}
