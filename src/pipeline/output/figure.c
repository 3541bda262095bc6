/* figure.c -- see the header.
 *
 * Tests: tests/unit/output/test_histogram.c, tests/unit/tune/test_tune_svg.c, tests/reference/test_report.py */
#include "pipeline/output/figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include <bandmill/sketch.h>

#include "pipeline/output/assets.h"

#define BINS  100u
#define STEPS 200u /* of a curve */
#define WORDS 130  /* pixels that the words at the threshold take */

void bm_figure_put(bm_figure *f, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (f->status == BM_OK)
        f->status = bm_buf_add_text(f->out, text, f->err);
}

void bm_figure_style(bm_figure *f)
{
    const bm_asset *style = &bm_assets[BM_ASSET_FIGURE];
    bm_figure_put(f, "<style>");
    if (f->status == BM_OK)
        f->status = bm_buf_add(f->out, style->text, style->len, f->err);
    bm_figure_put(f, "</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n");
}

double bm_figure_x(const bm_figure *f, double similarity)
{
    return f->left + (similarity - f->low) / (1 - f->low) * (f->right - f->left);
}

double bm_figure_y(const bm_figure *f, double share)
{
    return f->bottom - share * (f->bottom - f->top);
}

void bm_figure_line(bm_figure *f, const char *class_name, const double ends[4])
{
    bm_figure_put(f, "<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>", class_name,
                  bm_svg_px(ends[0]).text, bm_svg_px(ends[1]).text, bm_svg_px(ends[2]).text,
                  bm_svg_px(ends[3]).text);
}

void bm_figure_text(bm_figure *f, const char *class_name, double x, double y, const char *text)
{
    bm_figure_put(f, "<text class=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n", class_name,
                  bm_svg_px(x).text, bm_svg_px(y).text, text);
}

void bm_figure_counts(bm_figure *f, const bm_svg_axis *axis, const char *what)
{
    for (uint64_t tick = bm_svg_axis_first(axis); f->status == BM_OK && (double)tick <= axis->top;
         tick = bm_svg_axis_next(axis, tick)) {
        const double y = bm_figure_y(f, bm_svg_axis_share(axis, (double)tick));
        bm_figure_line(f, "grid", (const double[]){f->left, y, f->right, y});
        bm_figure_text(f, "num soft", f->left - 8, y + 4.5, bm_svg_count(tick).text);
    }
    bm_figure_put(f, "<text class=\"soft\" x=\"%s\" y=\"%s\">%s%s</text>\n",
                  bm_svg_px(f->left - 60).text, bm_svg_px(f->top - 22).text, what,
                  axis->log ? " (log scale)" : "");
}

void bm_figure_similarities(bm_figure *f, uint32_t step)
{
    bm_figure_line(f, "axis", (const double[]){f->left, f->bottom, f->right, f->bottom});
    for (uint32_t i = (uint32_t)lround(f->low * BINS); i <= BINS; i += step) {
        const double x = bm_figure_x(f, (double)i / BINS);
        bm_figure_line(f, "axis", (const double[]){x, f->bottom, x, f->bottom + 5});
        bm_figure_text(f, "mid soft", x, f->bottom + 20, bm_svg_share((double)i / BINS).text);
    }
    bm_figure_text(f, "mid soft", (f->left + f->right) / 2, f->bottom + 42, "Jaccard similarity");
}

void bm_figure_chances(bm_figure *f)
{
    for (uint32_t i = 0; i <= 4; i++) {
        const double y = bm_figure_y(f, i / 4.0);
        bm_figure_line(f, "axis", (const double[]){f->right, y, f->right + 5, y});
        bm_figure_put(f, "<text class=\"soft\" x=\"%s\" y=\"%s\">%" PRIu32 " %%</text>\n",
                      bm_svg_px(f->right + 8).text, bm_svg_px(y + 4.5).text, i * 25);
    }
}

void bm_figure_bar(bm_figure *f, double from, double to, double share)
{
    bm_figure_put(f, "<rect class=\"bar\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"",
                  bm_svg_px(from).text, bm_svg_px(bm_figure_y(f, share)).text,
                  bm_svg_px(to - from).text, bm_svg_px(share * (f->bottom - f->top)).text);
}

void bm_figure_bars(bm_figure *f, const uint64_t bins[BINS], const bm_svg_axis *axis)
{
    for (uint32_t i = 0; i < BINS; i++) {
        const double share = bm_svg_axis_share(axis, (double)bins[i]);
        if (bins[i] == 0 || share <= 0)
            continue;
        bm_figure_bar(f, bm_figure_x(f, (double)i / BINS) + .4,
                      bm_figure_x(f, (double)(i + 1) / BINS) - .4, share);
        bm_figure_put(f,
                      " data-low=\"0.%02" PRIu32 "\" data-pairs=\"%" PRIu64 "\"><title>0.%02" PRIu32
                      " to %" PRIu32 ".%02" PRIu32 ": %s pairs</title></rect>\n",
                      i, bins[i], i, (i + 1) / BINS, (i + 1) % BINS, bm_svg_count(bins[i]).text);
    }
}

/* A path, but for its end. */
static void put_path(bm_figure *f, const char *class_names, uint32_t bands, uint32_t rows)
{
    bm_figure_put(f, "<path class=\"%s\" d=\"", class_names);
    for (uint32_t i = 0; i <= STEPS; i++) {
        const double s = f->low + (1 - f->low) * i / STEPS;
        bm_figure_put(f, "%s%s %s", i == 0 ? "M" : "L", bm_svg_px(bm_figure_x(f, s)).text,
                      bm_svg_px(bm_figure_y(f, bm_band_probability(bands, rows, s))).text);
    }
}

void bm_figure_curve(bm_figure *f, const char *class_name, uint32_t bands, uint32_t rows)
{
    char class_names[64];
    snprintf(class_names, sizeof class_names, "curve %s", class_name);
    put_path(f, "halo", bands, rows); /* so that it is seen over bars */
    bm_figure_put(f, "\"/>\n");
    put_path(f, class_names, bands, rows);
    bm_figure_put(f, "\"><title>%" PRIu32 " bands of %" PRIu32 " rows</title></path>\n", bands,
                  rows);
}

void bm_figure_threshold(bm_figure *f, double threshold)
{
    const double x = bm_figure_x(f, threshold);
    const bool at_right = x > f->right - WORDS; /* no room for its words on the right */
    bm_figure_line(f, "threshold", (const double[]){x, f->top - 12, x, f->bottom});
    bm_figure_put(f, "<text class=\"mark%s\" x=\"%s\" y=\"%s\">threshold %s</text>\n",
                  at_right ? " num" : "", bm_svg_px(at_right ? x - 6 : x + 6).text,
                  bm_svg_px(f->top - 4).text, bm_svg_share(threshold).text);
}
