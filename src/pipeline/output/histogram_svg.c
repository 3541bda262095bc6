/* histogram_svg.c -- the histogram as a picture: a self-contained SVG of a few kilobytes.
 *
 * A bar a bin, from the tenth below the threshold to 1. Where the greatest bin has a hundred times
 * the pairs of the least that is not empty, the scale is logarithmic, from a half, so that a single
 * pair is still a bar; else linear. A dashed line stands at the threshold; nothing was looked for
 * on its left, and that ground is grey. Each bar has its numbers as a tooltip (<title>) and in
 * data-pairs; title and desc say the same in words for who cannot see it.
 *
 *     0 +---------------------------------+ 720
 *       | title, line of words            |
 *       | y |  plot 608 x 260             |
 *       |   +-----------------------------|
 *       |     similarities, their name    |
 *   400 +---------------------------------+
 *
 * Tests: tests/unit/output/test_histogram.c */
#include <inttypes.h>

#include "base/error.h"
#include "model/file_heads.h"
#include "pipeline/output/histogram.h"
#include "pipeline/output/svg_plot.h"

#define LEFT   88
#define RIGHT  696
#define TOP    72
#define BOTTOM 332

typedef struct scale {
    bm_svg_axis pairs;
    uint32_t first; /* bin */
} scale;

static double x_of(const scale *s, double similarity)
{
    double first = (double)s->first / BM_HISTOGRAM_BINS;
    return LEFT + (similarity - first) / (1 - first) * (RIGHT - LEFT);
}

static double y_of(const scale *s, double pairs)
{
    return BOTTOM - bm_svg_axis_share(&s->pairs, pairs) * (BOTTOM - TOP);
}

static scale choose_scale(const bm_histogram_picture *p)
{
    double pairs[BM_HISTOGRAM_BINS];
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++)
        pairs[i] = (double)p->bins[i];
    return (scale){.pairs = bm_svg_axis_of(pairs, BM_HISTOGRAM_BINS),
                   .first = bm_histogram_bin(p->threshold) / 10 * 10};
}

static bm_status add_head(bm_buf *out, const bm_histogram_picture *p, const scale *s, bm_error *err)
{
    bm_status status = bm_buf_add_format(
        out, err,
        BM_HEAD_PICTURE
        "<desc id=\"desc\">Histogram: %s pairs of %s documents by Jaccard similarity, in steps of "
        "0.01, at and above the threshold %s; %s scale.</desc>\n",
        bm_svg_count(p->n_pairs).text, bm_svg_count(p->n_documents).text,
        bm_svg_share(p->threshold).text, s->pairs.log ? "logarithmic" : "linear");
    if (status == BM_OK)
        status = bm_buf_add_text(out,
                                 "<style>" BM_SVG_STYLE "</style>\n"
                                 "<rect width=\"720\" height=\"400\" fill=\"#fff\"/>\n",
                                 err);
    if (status == BM_OK)
        status = bm_buf_add_format(out, err,
                                   "<text class=\"head\" x=\"24\" y=\"32\">Similarities of %s pairs"
                                   "</text>\n<text x=\"24\" y=\"53\">%s documents; %s</text>\n",
                                   bm_svg_count(p->n_pairs).text, bm_svg_count(p->n_documents).text,
                                   p->what);
    return status;
}

static bm_status add_tick(bm_buf *out, const scale *s, uint64_t value, bm_error *err)
{
    bm_svg_text y = bm_svg_px(y_of(s, (double)value)),
                text = bm_svg_px(y_of(s, (double)value) + 4.5);
    return bm_buf_add_format(out, err,
                             "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%s\" y2=\"%s\"/>"
                             "<text class=\"num\" x=\"%d\" y=\"%s\">%s</text>\n",
                             LEFT, RIGHT, y.text, y.text, LEFT - 8, text.text,
                             bm_svg_count(value).text);
}

static bm_status add_axes(bm_buf *out, const scale *s, bm_error *err)
{
    bm_status status = BM_OK;
    for (uint64_t tick = bm_svg_axis_first(&s->pairs);
         status == BM_OK && (double)tick <= s->pairs.top; tick = bm_svg_axis_next(&s->pairs, tick))
        status = add_tick(out, s, tick, err);
    uint32_t step = s->first >= 70 ? 5 : 10; /* hundredths between two marks */
    for (uint32_t i = s->first; status == BM_OK && i <= BM_HISTOGRAM_BINS; i += step) {
        double x = x_of(s, (double)i / BM_HISTOGRAM_BINS);
        status = bm_buf_add_format(out, err,
                                   "<line class=\"axis\" x1=\"%s\" x2=\"%s\" y1=\"%d\" y2=\"%d\"/>"
                                   "<text class=\"mid\" x=\"%s\" y=\"%d\">%s</text>\n",
                                   bm_svg_px(x).text, bm_svg_px(x).text, BOTTOM, BOTTOM + 5,
                                   bm_svg_px(x).text, BOTTOM + 21,
                                   bm_svg_share((double)i / BM_HISTOGRAM_BINS).text);
    }
    if (status == BM_OK)
        status = bm_buf_add_format(
            out, err,
            "<text class=\"mid\" x=\"%d\" y=\"%d\">Jaccard similarity</text>\n"
            "<text class=\"mid\" transform=\"translate(20 %d) rotate(-90)\">pairs%s</text>\n",
            (LEFT + RIGHT) / 2, BOTTOM + 46, (TOP + BOTTOM) / 2,
            s->pairs.log ? " (log scale)" : "");
    return status;
}

static bm_status add_bars(bm_buf *out, const bm_histogram_picture *p, const scale *s, bm_error *err)
{
    bm_status status = BM_OK;
    for (uint32_t i = s->first; status == BM_OK && i < BM_HISTOGRAM_BINS; i++) {
        if (p->bins[i] == 0)
            continue;
        double low = (double)i / BM_HISTOGRAM_BINS, high = (double)(i + 1) / BM_HISTOGRAM_BINS;
        double x = x_of(s, low), width = x_of(s, high) - x, y = y_of(s, (double)p->bins[i]);
        status = bm_buf_add_format(
            out, err,
            "<rect class=\"bar\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" data-low=\"0.%02u\" "
            "data-pairs=\"%" PRIu64 "\"><title>0.%02u to %u.%02u: %s pairs</title></rect>\n",
            bm_svg_px(x + .5).text, bm_svg_px(y).text, bm_svg_px(width - 1).text,
            bm_svg_px(BOTTOM - y).text, i, p->bins[i], i, (i + 1) / 100, (i + 1) % 100,
            bm_svg_count(p->bins[i]).text);
    }
    return status;
}

static bm_status add_threshold(bm_buf *out, const bm_histogram_picture *p, const scale *s,
                               bm_error *err)
{
    double x = x_of(s, p->threshold);
    bool at_right = x > RIGHT - 120; /* no room for its words on the right */
    return bm_buf_add_format(out, err,
                             "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n"
                             "<line class=\"threshold\" x1=\"%s\" x2=\"%s\" y1=\"%d\" y2=\"%d\"/>"
                             "<text class=\"mark%s\" x=\"%s\" y=\"%d\">threshold %s</text>\n",
                             LEFT, RIGHT, BOTTOM, BOTTOM, bm_svg_px(x).text, bm_svg_px(x).text,
                             TOP - 14, BOTTOM, at_right ? " num" : "",
                             bm_svg_px(at_right ? x - 6 : x + 6).text, TOP - 4,
                             bm_svg_share(p->threshold).text);
}

bm_status bm_histogram_svg(bm_buf *out, const bm_histogram_picture *p, bm_error *err)
{
    scale s = choose_scale(p);
    bm_status status = add_head(out, p, &s, err);
    if (status == BM_OK)
        status = bm_buf_add_format(out, err,
                                   "<rect class=\"off\" x=\"%d\" y=\"%d\" width=\"%s\" "
                                   "height=\"%d\"><title>not looked for</title></rect>\n",
                                   LEFT, TOP, bm_svg_px(x_of(&s, p->threshold) - LEFT).text,
                                   BOTTOM - TOP);
    if (status == BM_OK)
        status = add_axes(out, &s, err);
    if (status == BM_OK)
        status = add_bars(out, p, &s, err);
    if (status == BM_OK)
        status = add_threshold(out, p, &s, err);
    return status == BM_OK ? bm_buf_add_text(out, "</svg>\n", err) : status;
}
