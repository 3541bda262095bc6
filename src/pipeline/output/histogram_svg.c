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
 *       | plot 608 x 234                  |
 *       |     similarities, their name    |
 *   400 +---------------------------------+
 *
 * Tests: tests/unit/output/test_histogram.c */
#include "base/error.h"
#include "model/file_heads.h"
#include "pipeline/output/figure.h"
#include "pipeline/output/histogram.h"

static void put_head(bm_figure *f, const bm_histogram_picture *p, const bm_svg_axis *axis)
{
    bm_figure_put(f,
                  BM_HEAD_PICTURE
                  "<desc id=\"desc\">Histogram: %s pairs of %s documents by Jaccard similarity, in "
                  "steps of 0.01, at and above the threshold %s; %s scale.</desc>\n",
                  bm_svg_count(p->n_pairs).text, bm_svg_count(p->n_documents).text,
                  bm_svg_share(p->threshold).text, axis->log ? "logarithmic" : "linear");
    bm_figure_style(f);
    bm_figure_put(f,
                  "<text class=\"head\" x=\"24\" y=\"32\">Similarities of %s pairs</text>\n"
                  "<text class=\"soft\" x=\"24\" y=\"53\">%s documents; %s</text>\n",
                  bm_svg_count(p->n_pairs).text, bm_svg_count(p->n_documents).text, p->what);
}

bm_status bm_histogram_svg(bm_buf *out, const bm_histogram_picture *p, bm_error *err)
{
    double pairs[BM_HISTOGRAM_BINS];
    const uint32_t first = bm_histogram_bin(p->threshold) / 10 * 10;
    bm_figure f = {.out = out,
                   .err = err,
                   .left = 88,
                   .right = 696,
                   .top = 98,
                   .bottom = 332,
                   .low = (double)first / BM_HISTOGRAM_BINS};
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++)
        pairs[i] = (double)p->bins[i];
    const bm_svg_axis axis = bm_svg_axis_of(pairs, BM_HISTOGRAM_BINS);
    put_head(&f, p, &axis);
    bm_figure_put(&f,
                  "<rect class=\"off\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"><title>not "
                  "looked for</title></rect>\n",
                  bm_svg_px(f.left).text, bm_svg_px(f.top).text,
                  bm_svg_px(bm_figure_x(&f, p->threshold) - f.left).text,
                  bm_svg_px(f.bottom - f.top).text);
    bm_figure_counts(&f, &axis, "pairs");
    bm_figure_bars(&f, p->bins, &axis);
    bm_figure_similarities(&f, first >= 70 ? 5 : 10);
    bm_figure_threshold(&f, p->threshold);
    bm_figure_put(&f, "</svg>\n");
    return f.status;
}
