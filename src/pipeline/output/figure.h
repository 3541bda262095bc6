/* figure.h -- the one hand that draws our pictures: axes, bars, curves and the threshold, of the page of `report`, of
 * histograms and of band plans. Their look is figure.css, in the page or in the picture itself.
 *
 *     counts  |        |   : 100 %        counts of pairs at the left, a curve's chance at the right
 *             | ._     |   :
 *             |_|_|____|___: 0 %
 *              similarities  1            from `low` to 1 */
#ifndef BM_OUTPUT_FIGURE_H
#define BM_OUTPUT_FIGURE_H

#include <bandmill/types.h>

#include "base/memory.h"
#include "pipeline/output/svg_plot.h"

typedef struct bm_figure {
    bm_buf *out; /* borrowed */
    bm_error *err;
    bm_status status; /* the first failure: what follows is not drawn */
    double left, right, top, bottom;
    double low; /* similarity at the left end; at the right one 1 */
} bm_figure;

void bm_figure_put(bm_figure *f, const char *format, ...) BM_PRINTF(2, 3);
/* Of a picture that stands alone: its style, and its ground. */
void bm_figure_style(bm_figure *f);
double bm_figure_x(const bm_figure *f, double similarity);
/* Of a share of the height, 0 to 1. */
double bm_figure_y(const bm_figure *f, double share);
void bm_figure_line(bm_figure *f, const char *class_name, const double ends[4]); /* x, y, x, y */
void bm_figure_text(bm_figure *f, const char *class_name, double x, double y, const char *text);
/* The axis of counts with its lines; `what`: of what, a word of ours. */
void bm_figure_counts(bm_figure *f, const bm_svg_axis *axis, const char *what);
/* The axis of similarities; a mark each `step` hundredths. */
void bm_figure_similarities(bm_figure *f, uint32_t step);
/* The axis of a curve, in hundredths. */
void bm_figure_chances(bm_figure *f);
/* The bars of hundredths of similarity that are not empty. */
void bm_figure_bars(bm_figure *f, const uint64_t bins[100], const bm_svg_axis *axis);
/* A bar from x to x of this share of the height, of which the caller writes title and end. */
void bm_figure_bar(bm_figure *f, double from, double to, double share);
/* The chance that a pair becomes a candidate; `class_name` beside "curve". */
void bm_figure_curve(bm_figure *f, const char *class_name, uint32_t bands, uint32_t rows);
void bm_figure_threshold(bm_figure *f, double threshold);

#endif
