/* SPDX-License-Identifier: Apache-2.0 */
/* figure.h -- draws all our pictures (the page of `report`, histograms, band plans): numbers as
 * text, axes, bars, curves and the threshold. Their style is figure.css, in the page or in the
 * picture itself. Numbers are formatted with integers only, so that no locale changes them.
 *
 *     counts  |        |   : 100 %        counts of pairs at the left, a curve's chance at the
 *             | ._     |   :              right
 *             |_|_|____|___: 0 %
 *              similarities  1            from `low` to 1 */
#pragma once

#include <bandmill/types.h>

#include "base/memory.h"

typedef struct bm_svg_text {
    char text[32];
} bm_svg_text;

/* Pixels with two decimals: "12.34". */
bm_svg_text bm_svg_px(double value);
/* With commas: "1,234,567". */
bm_svg_text bm_svg_count(uint64_t n);
/* A similarity or a probability in up to four digits: "0.8", "0.8571". */
bm_svg_text bm_svg_share(double value);

#define BM_FIGURE_BINS 100u /* a bin per hundredth of similarity */

typedef struct bm_figure {
    bm_buf *out; /* borrowed */
    bm_error *err;
    bm_status status; /* the first failure; nothing is drawn after it */
    double left, right, top, bottom;
    double low; /* similarity at the left end; the right end is 1 */
    /* The axis of counts. It is logarithmic if the greatest count is at least a hundred times the
     * least nonzero one, and then begins at 0.5, so that a count of 1 still has a bar; else
     * linear. */
    bool log;
    double most;             /* the value at the upper end */
    uint64_t step;           /* distance between ticks; on a logarithmic axis, their ratio */
    const char *unit, *axis; /* what a bar counts, and the name of the axis; NULL: pairs, by their
                              * Jaccard similarity */
} bm_figure;

void bm_figure_put(bm_figure *f, const char *format, ...) BM_PRINTF(2, 3);
/* Write the style and the background of a stand-alone picture. */
void bm_figure_style(bm_figure *f);
double bm_figure_x(const bm_figure *f, double similarity);
void bm_figure_line(bm_figure *f, const char *class_name, double x1, double y1, double x2,
                    double y2);
void bm_figure_text(bm_figure *f, const char *class_name, double x, double y, const char *text);
/* Choose the axis of counts. Call this before the functions below. */
void bm_figure_scale(bm_figure *f, const double *counts, size_t n);
/* Draw the axis of counts with its lines; `what`: the name of the counted things. */
void bm_figure_counts(bm_figure *f, const char *what);
/* Begin a bar from x `from` to x `to`, as high as the count. The caller writes its title and its
 * end. Returns false if the bar has no height; it is then not drawn. */
bool bm_figure_bar(bm_figure *f, double from, double to, double count);
/* Draw a bar per hundredth of similarity; `air`: the gap on either side of each bar. */
void bm_figure_bars(bm_figure *f, const double counts[BM_FIGURE_BINS], double air);
/* Draw the axis of similarities, with a mark every `step` hundredths. */
void bm_figure_similarities(bm_figure *f, uint32_t step);
/* Draw the axis of a curve, in percent. */
void bm_figure_chances(bm_figure *f);
/* Draw the probability that a pair becomes a candidate; `class_name`: a CSS class besides
 * "curve". */
void bm_figure_curve(bm_figure *f, const char *class_name, uint32_t bands, uint32_t rows);
void bm_figure_threshold(bm_figure *f, double threshold);
