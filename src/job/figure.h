/* SPDX-License-Identifier: Apache-2.0 */
/* figure.h -- the one hand that draws our pictures: numbers as text, axes, bars, curves and the
 * threshold, of the page of `report`, of histograms and of band plans. Their look is figure.css, in
 * the page or in the picture itself. Numbers are written by integers only, so that no locale
 * changes them.
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

/* Hundredths of a pixel: "12.34". */
bm_svg_text bm_svg_px(double value);
/* With commas: "1,234,567". */
bm_svg_text bm_svg_count(uint64_t n);
/* A similarity or a probability in up to four digits: "0.8", "0.8571". */
bm_svg_text bm_svg_share(double value);

#define BM_FIGURE_BINS 100u /* hundredths of similarity */

typedef struct bm_figure {
    bm_buf *out; /* borrowed */
    bm_error *err;
    bm_status status; /* the first failure: what follows is not drawn */
    double left, right, top, bottom;
    double low; /* similarity at the left end; at the right one 1 */
    /* The axis of counts. Where the greatest has a hundred times the least that is not 0, it is
     * logarithmic, from a half, so that a single one is still a bar; else linear. */
    bool log;
    double most;             /* the value at the upper end */
    uint64_t step;           /* between ticks; where logarithmic, the factor */
    const char *unit, *axis; /* of hundredths: what a bar counts, what the axis is; NULL: pairs, by
                              * their Jaccard similarity */
} bm_figure;

void bm_figure_put(bm_figure *f, const char *format, ...) BM_PRINTF(2, 3);
/* Begin a picture that is alone with its style and its ground. */
void bm_figure_style(bm_figure *f);
double bm_figure_x(const bm_figure *f, double similarity);
void bm_figure_line(bm_figure *f, const char *class_name, double x1, double y1, double x2,
                    double y2);
void bm_figure_text(bm_figure *f, const char *class_name, double x, double y, const char *text);
/* Choose the axis of counts, which the calls below need. */
void bm_figure_scale(bm_figure *f, const double *counts, size_t n);
/* Draw the axis with its lines; `what`: the word for the things that are counted. */
void bm_figure_counts(bm_figure *f, const char *what);
/* Begin a bar between two x, as high as a count. The caller writes its title and its end. False: it
 * would have no height. */
bool bm_figure_bar(bm_figure *f, double from, double to, double count);
/* The bars of hundredths of similarity, with so much air at both sides. */
void bm_figure_bars(bm_figure *f, const double counts[BM_FIGURE_BINS], double air);
/* The axis of similarities; a mark each `step` hundredths. */
void bm_figure_similarities(bm_figure *f, uint32_t step);
/* The axis of a curve, in hundredths. */
void bm_figure_chances(bm_figure *f);
/* The chance that a pair becomes a candidate; `class_name` beside "curve". */
void bm_figure_curve(bm_figure *f, const char *class_name, uint32_t bands, uint32_t rows);
void bm_figure_threshold(bm_figure *f, double threshold);
