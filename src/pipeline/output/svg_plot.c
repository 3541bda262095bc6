/* svg_plot.c -- numbers and axes of pictures.
 *
 * Tests: tests/unit/output/test_histogram.c, tests/unit/tune/test_tune_svg.c */
#include "pipeline/output/svg_plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define LOG_RATIO  100
#define LOG_FROM   0.5 /* where a logarithmic axis begins: a bar of one has a height */
#define TICKS_MOST 7   /* decades that have a tick each; of more, every other or third */

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

/* --- axes --- */

/* 1, 2 or 5 times a power of ten: the least that divides `top` into six parts at most. */
static uint64_t tick_step(uint64_t top)
{
    uint64_t ten = 1;
    for (;; ten *= 10)
        for (uint64_t digit = 1; digit <= 5; digit += digit == 1 ? 1 : 3)
            if (top / (ten * digit) <= 5)
                return ten * digit;
}

bm_svg_axis bm_svg_axis_of(const double *counts, size_t n)
{
    double most = 0, least = INFINITY;
    for (size_t i = 0; i < n; i++) {
        most = counts[i] > most ? counts[i] : most;
        least = counts[i] > 0 && counts[i] < least ? counts[i] : least;
    }
    bm_svg_axis axis = {.log = most > 0 && floor(most / least) >= LOG_RATIO};
    if (!axis.log) {
        axis.step = tick_step((uint64_t)most);
        axis.top = (floor(most / (double)axis.step) + 1) * (double)axis.step;
        return axis;
    }
    unsigned decades = 0;
    axis.top = 1;
    while (axis.top < most) {
        axis.top *= 10;
        decades++;
    }
    axis.step = 1;
    for (unsigned i = 0; i <= decades / TICKS_MOST; i++)
        axis.step *= 10;
    return axis;
}

double bm_svg_axis_share(const bm_svg_axis *axis, double value)
{
    const double share =
        axis->log ? log(value / LOG_FROM) / log(axis->top / LOG_FROM) : value / axis->top;
    return share > 0 ? share : 0;
}

uint64_t bm_svg_axis_first(const bm_svg_axis *axis)
{
    return axis->log ? 1 : 0;
}

uint64_t bm_svg_axis_next(const bm_svg_axis *axis, uint64_t tick)
{
    return axis->log ? tick * axis->step : tick + axis->step;
}
