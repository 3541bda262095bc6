/* SPDX-License-Identifier: Apache-2.0 */
/* figure.c -- draws axes, bars, curves and thresholds as SVG.
 *
 * Tests: tests/unit/job/test_histogram.c, tests/unit/tune/test_tune_svg.c,
 * tests/reference/test_report.py */
#include "job/figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include <bandmill/sketch.h>

#include "job/assets.h"

#define CURVE_STEPS 200u
#define WORDS       130 /* width in pixels of the label at the threshold */
#define LOG_RATIO   100 /* least ratio of counts for a logarithmic axis */
#define LOG_FROM    0.5 /* start of a logarithmic axis; below 1, so that a bar of 1 has a height */
#define TICKS_MOST  7   /* from 7 decades on, every second one has a tick; from 14, every third */

/* --- numbers --- */

bm_svg_text bm_svg_px(double value)
{
    bm_svg_text out;
    long hundredths = lround(value * 100);
    snprintf(out.text, sizeof out.text, "%ld.%02ld", hundredths / 100, hundredths % 100);
    return out;
}

bm_svg_text bm_svg_count(uint64_t n)
{
    char digits[24];
    bm_svg_text out;
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n), to = 0;
    for (int i = 0; i < len && to + 2 < (int)sizeof out.text; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out.text[to++] = ',';
        out.text[to++] = digits[i];
    }
    out.text[to] = '\0';
    return out;
}

bm_svg_text bm_svg_share(double value)
{
    bm_svg_text out;
    unsigned n = (unsigned)lround(value * 10000);
    int len = snprintf(out.text, sizeof out.text, "%u.%04u", n / 10000, n % 10000);
    while (len > 1 && out.text[len - 1] == '0')
        out.text[--len] = '\0';
    if (len > 1 && out.text[len - 1] == '.')
        out.text[--len] = '\0';
    return out;
}

/* --- marks --- */

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

/* The y, in pixels, at a share (0 to 1) of the height. */
static double y_of(const bm_figure *f, double share)
{
    return f->bottom - share * (f->bottom - f->top);
}

void bm_figure_line(bm_figure *f, const char *class_name, double x1, double y1, double x2,
                    double y2)
{
    bm_figure_put(f, "<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>", class_name,
                  bm_svg_px(x1).text, bm_svg_px(y1).text, bm_svg_px(x2).text, bm_svg_px(y2).text);
}

void bm_figure_text(bm_figure *f, const char *class_name, double x, double y, const char *text)
{
    bm_figure_put(f, "<text class=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n", class_name,
                  bm_svg_px(x).text, bm_svg_px(y).text, text);
}

/* --- counts --- */

/* The smallest step of the form 1, 2 or 5 times a power of ten that divides `top` into at most six
 * parts. */
static uint64_t tick_step(uint64_t top)
{
    uint64_t ten = 1;
    for (;; ten *= 10)
        for (uint64_t digit = 1; digit <= 5; digit += digit == 1 ? 1 : 3)
            if (top / (ten * digit) <= 5)
                return ten * digit;
}

void bm_figure_scale(bm_figure *f, const double *counts, size_t n)
{
    double most = 0, least = INFINITY;
    for (size_t i = 0; i < n; i++) {
        most = counts[i] > most ? counts[i] : most;
        least = counts[i] > 0 && counts[i] < least ? counts[i] : least;
    }
    f->log = most > 0 && floor(most / least) >= LOG_RATIO;
    f->step = f->log ? 1 : tick_step((uint64_t)most);
    f->most = f->log ? 1 : (floor(most / (double)f->step) + 1) * (double)f->step;
    unsigned decades = 0;
    for (; f->log && f->most < most; decades++)
        f->most *= 10;
    for (unsigned i = 0; f->log && i <= decades / TICKS_MOST; i++)
        f->step *= 10;
}

/* The height of a count, as a share of the whole height: at least 0. */
static double share_of(const bm_figure *f, double count)
{
    const double share = f->log ? log(count / LOG_FROM) / log(f->most / LOG_FROM) : count / f->most;
    return share > 0 ? share : 0;
}

void bm_figure_counts(bm_figure *f, const char *what)
{
    for (uint64_t tick = f->log ? 1 : 0; f->status == BM_OK && (double)tick <= f->most;
         tick = f->log ? tick * f->step : tick + f->step) {
        const double y = y_of(f, share_of(f, (double)tick));
        bm_figure_line(f, "grid", f->left, y, f->right, y);
        bm_figure_text(f, "num soft", f->left - 8, y + 4.5, bm_svg_count(tick).text);
    }
    bm_figure_put(f, "<text class=\"soft\" x=\"%s\" y=\"%s\">%s%s</text>\n",
                  bm_svg_px(f->left - 60).text, bm_svg_px(f->top - 22).text, what,
                  f->log ? " (log scale)" : "");
}

bool bm_figure_bar(bm_figure *f, double from, double to, double count)
{
    const double share = share_of(f, count);
    if (share > 0)
        bm_figure_put(f, "<rect class=\"bar\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"",
                      bm_svg_px(from).text, bm_svg_px(y_of(f, share)).text,
                      bm_svg_px(to - from).text, bm_svg_px(share * (f->bottom - f->top)).text);
    return share > 0;
}

void bm_figure_bars(bm_figure *f, const double counts[BM_FIGURE_BINS], double air)
{
    for (uint32_t i = 0; i < BM_FIGURE_BINS; i++) {
        const double from = bm_figure_x(f, (double)i / BM_FIGURE_BINS) + air,
                     to = bm_figure_x(f, (double)(i + 1) / BM_FIGURE_BINS) - air;
        const uint64_t n = (uint64_t)llround(counts[i]);
        if (bm_figure_bar(f, from, to, counts[i]))
            bm_figure_put(f,
                          " data-low=\"0.%02u\" data-pairs=\"%" PRIu64
                          "\"><title>0.%02u to %u.%02u: %s %s%s</title></rect>\n",
                          i, n, i, (i + 1) / 100, (i + 1) % 100, bm_svg_count(n).text,
                          f->unit != NULL ? f->unit : "pair", n == 1 ? "" : "s");
    }
}

/* --- similarities --- */

void bm_figure_similarities(bm_figure *f, uint32_t step)
{
    bm_figure_line(f, "axis", f->left, f->bottom, f->right, f->bottom);
    for (uint32_t i = (uint32_t)lround(f->low * BM_FIGURE_BINS); i <= BM_FIGURE_BINS; i += step) {
        const double x = bm_figure_x(f, (double)i / BM_FIGURE_BINS);
        bm_figure_line(f, "axis", x, f->bottom, x, f->bottom + 5);
        bm_figure_text(f, "mid soft", x, f->bottom + 20,
                       bm_svg_share((double)i / BM_FIGURE_BINS).text);
    }
    bm_figure_text(f, "mid soft", (f->left + f->right) / 2, f->bottom + 42,
                   f->axis != NULL ? f->axis : "Jaccard similarity");
}

void bm_figure_chances(bm_figure *f)
{
    for (uint32_t i = 0; i <= 4; i++) {
        const double y = y_of(f, i / 4.0);
        bm_figure_line(f, "axis", f->right, y, f->right + 5, y);
        bm_figure_put(f, "<text class=\"soft\" x=\"%s\" y=\"%s\">%" PRIu32 " %%</text>\n",
                      bm_svg_px(f->right + 8).text, bm_svg_px(y + 4.5).text, i * 25);
    }
}

void bm_figure_curve(bm_figure *f, const char *class_name, uint32_t bands, uint32_t rows)
{
    /* Draw a halo first, then the curve on it, so that the curve is visible over bars. */
    for (int front = 0; front < 2; front++) {
        bm_figure_put(f, "<path class=\"%s%s\" d=\"", front ? "curve " : "halo",
                      front ? class_name : "");
        for (uint32_t i = 0; i <= CURVE_STEPS; i++) {
            const double s = f->low + (1 - f->low) * i / CURVE_STEPS;
            bm_figure_put(f, "%s%s %s", i == 0 ? "M" : "L", bm_svg_px(bm_figure_x(f, s)).text,
                          bm_svg_px(y_of(f, bm_band_probability(bands, rows, s))).text);
        }
        bm_figure_put(f, front ? "\">" : "\"/>\n");
    }
    bm_figure_put(f, "<title>%" PRIu32 " bands of %" PRIu32 " rows</title></path>\n", bands, rows);
}

void bm_figure_threshold(bm_figure *f, double threshold)
{
    const double x = bm_figure_x(f, threshold);
    const bool at_right = x > f->right - WORDS; /* if so, the label is to the left of the line */
    bm_figure_line(f, "threshold", x, f->top - 12, x, f->bottom);
    bm_figure_put(f, "<text class=\"mark%s\" x=\"%s\" y=\"%s\">threshold %s</text>\n",
                  at_right ? " num" : "", bm_svg_px(at_right ? x - 6 : x + 6).text,
                  bm_svg_px(f->top - 4).text, bm_svg_share(threshold).text);
}
