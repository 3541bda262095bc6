/* SPDX-License-Identifier: Apache-2.0 */
/* figure.h -- draws the pictures of `report`, of histograms and of band plans: numbers as text,
 * axes, bars, curves and the threshold. The page or the stand-alone picture embeds figure.css,
 * which defines the style. Numbers are formatted with integers only, so that no locale changes
 * them.
 *
 *     counts  |        |   : 100 %        left axis: counts of pairs, for bars
 *             | ._     |   :              right axis: probabilities, for curves
 *             |_|_|____|___: 0 %
 *              similarities  1            lower axis: similarities from `low` to 1 */
#pragma once

#include <bandmill/types.h>

#include "base/memory.h"

typedef struct bm_svg_text {
    char text[32];
} bm_svg_text;

/* A number of pixels, with two decimals: "12.34". */
bm_svg_text bm_svg_px(double value);
/* A count, with commas: "1,234,567". */
bm_svg_text bm_svg_count(uint64_t n);
/* A similarity or a probability in up to four digits: "0.8", "0.8571". */
bm_svg_text bm_svg_share(double value);

#define BM_FIGURE_BINS 100u /* one bin per hundredth of similarity */

typedef struct bm_figure {
    bm_buf *out; /* borrowed */
    bm_error *err;
    bm_status status; /* the first failure; nothing is drawn after it */
    /* Edges of the area between the axes, in pixels. */
    double left, right, top, bottom;
    double low; /* similarity at the left end; the similarity at the right end is 1 */
    /* The axis of counts is logarithmic if the greatest count is at least a hundred times the least
     * nonzero count, else linear. A logarithmic axis begins at 0.5, so that a count of 1 has a
     * visible bar. */
    bool log;
    double most;   /* the count at the upper end */
    uint64_t step; /* distance between two ticks; on a logarithmic axis, their ratio */
    /* What a bar counts (NULL: "pair"), and the name of the lower axis (NULL: "Jaccard
     * similarity"). */
    const char *unit, *axis;
} bm_figure;

/* Append formatted text. Only its first 1,023 bytes are used. */
void bm_figure_put(bm_figure *f, const char *format, ...) BM_PRINTF(2, 3);
/* Write the style and the background of a stand-alone picture. */
void bm_figure_style(bm_figure *f);
/* The x of a similarity, in pixels. */
double bm_figure_x(const bm_figure *f, double similarity);
void bm_figure_line(bm_figure *f, const char *class_name, double x1, double y1, double x2,
                    double y2);
void bm_figure_text(bm_figure *f, const char *class_name, double x, double y, const char *text);
/* Choose the axis of counts (log, most, step) for n counts. Call this before bm_figure_counts,
 * _bar and _bars. */
void bm_figure_scale(bm_figure *f, const double *counts, size_t n);
/* Draw the axis of counts, with a line across the figure at each tick. `what`: the label of the
 * axis. */
void bm_figure_counts(bm_figure *f, const char *what);
/* Begin the SVG element of a bar from x = `from` to x = `to`. The height of the bar shows the
 * count. The caller writes the rest of the element. If the height is zero, nothing is written, and
 * false is returned. */
bool bm_figure_bar(bm_figure *f, double from, double to, double count);
/* Draw one bar per hundredth of similarity. `air`: the gap on either side of each bar, in
 * pixels. */
void bm_figure_bars(bm_figure *f, const double counts[BM_FIGURE_BINS], double air);
/* Draw the axis of similarities, with a mark every `step` hundredths. */
void bm_figure_similarities(bm_figure *f, uint32_t step);
/* Draw the axis of probabilities, in percent, for curves. */
void bm_figure_chances(bm_figure *f);
/* Draw the curve of a band plan: the probability that a pair becomes a candidate. `class_name`: CSS
 * class of the curve, in addition to "curve". */
void bm_figure_curve(bm_figure *f, const char *class_name, uint32_t bands, uint32_t rows);
/* Draw the line of the threshold, with a label. */
void bm_figure_threshold(bm_figure *f, double threshold);
