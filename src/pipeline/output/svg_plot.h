/* svg_plot.h -- what our pictures have in common: numbers as text, the look, and an axis of counts.
 *
 * Numbers are written by integers only, so that no locale changes them. Colours are those of Okabe and Ito,
 * or dark and light enough to be told apart without colour; where two lines cross they differ in their
 * dashes too. */
#ifndef BM_OUTPUT_SVG_PLOT_H
#define BM_OUTPUT_SVG_PLOT_H

#include <bandmill/types.h>

#include "base/memory.h"

#define BM_SVG_STYLE                                                                               \
    "text{font:13px system-ui,sans-serif;fill:#333}.head{font-size:17px;fill:#111}"                \
    ".bar{fill:#2f6f9f}.bar:hover{fill:#c1531b}.grid{stroke:#ddd}.axis{stroke:#333}"               \
    ".off{fill:#f1f1f1}.threshold{stroke:#c1531b;stroke-width:1.5;stroke-dasharray:5 4}"           \
    ".mark{fill:#a8430f}.num{text-anchor:end}.mid{text-anchor:middle}"

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
