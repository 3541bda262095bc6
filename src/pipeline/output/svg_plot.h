/* svg_plot.h -- numbers as text, and an axis of counts, for pictures and pages (figure.h draws them).
 *
 * Numbers are written by integers only, so that no locale changes them. */
#ifndef BM_OUTPUT_SVG_PLOT_H
#define BM_OUTPUT_SVG_PLOT_H

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

/* Counts from bottom to top. Where the greatest has a hundred times the least that is not 0, the scale is
 * logarithmic, from a half, so that a single one is still a bar; else linear. */
typedef struct bm_svg_axis {
    bool log;
    double top;    /* the value at the upper end */
    uint64_t step; /* between ticks; where logarithmic, the factor */
} bm_svg_axis;

bm_svg_axis bm_svg_axis_of(const double *counts, size_t n);
/* The share of its height at which a value lies; 0 for what is below its beginning. */
double bm_svg_axis_share(const bm_svg_axis *axis, double value);
/* The ticks, one after another: the first, and the next, as long as they are at most `top`. */
uint64_t bm_svg_axis_first(const bm_svg_axis *axis);
uint64_t bm_svg_axis_next(const bm_svg_axis *axis, uint64_t tick);

#endif
