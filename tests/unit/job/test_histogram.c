/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms: bins against integer arithmetic, and the numbers in the drawing. */
#include <criterion/criterion.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/histogram.h"

Test(histogram, a_bin_is_the_hundredth_that_the_fraction_lies_in)
{
    for (uint64_t all = 1; all <= 1000; all++)
        for (uint64_t common = 0; common <= all; common++) {
            uint64_t wanted = common == all ? 99 : common * 100 / all;
            cr_assert_eq(bm_histogram_bin((double)common / (double)all), wanted,
                         "%" PRIu64 "/%" PRIu64, common, all);
        }
    for (uint64_t k = 0; k < 100; k++) { /* large sets, at and just below each bound */
        uint64_t all = UINT64_C(4294967200), common = all / 100 * k;
        cr_assert_eq(bm_histogram_bin((double)common / (double)all), k);
        if (k > 0)
            cr_assert_eq(bm_histogram_bin((double)(common - 1) / (double)all), k - 1);
    }
}

static char *draw(const uint64_t *bins, double threshold)
{
    static bm_buf out;
    bm_histogram_picture picture = {
        .bins = bins, .threshold = threshold, .n_documents = 4321, .what = "as it was found"};
    for (int i = 0; i < 100; i++)
        picture.n_pairs += bins[i];
    out.len = 0;
    cr_assert_eq(bm_histogram_svg(&out, &picture, NULL), BM_OK);
    cr_assert_eq(bm_buf_end(&out, NULL), BM_OK);
    return out.data;
}

typedef struct bar {
    double x, y, width, height;
    unsigned low;
    uint64_t pairs;
} bar;

static size_t bars_of(const char *svg, bar out[100])
{
    size_t n = 0;
    for (const char *at = svg; (at = strstr(at, "<rect class=\"bar\"")) != NULL; at++, n++) {
        bar *b = &out[n];
        cr_assert_eq(sscanf(at,
                            "<rect class=\"bar\" x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\" "
                            "data-low=\"0.%2u\" data-pairs=\"%" SCNu64,
                            &b->x, &b->y, &b->width, &b->height, &b->low, &b->pairs),
                     6);
    }
    return n;
}

Test(histogram, bars_are_the_bins_and_their_heights_the_pairs)
{
    uint64_t bins[100] = {[50] = 40, [51] = 100, [75] = 2, [99] = 120};
    bar bars[100];
    cr_assert_eq(bars_of(draw(bins, .5), bars), 4);
    static const unsigned low[] = {50, 51, 75, 99};
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(bars[i].low, low[i]);
        cr_assert_eq(bars[i].pairs, bins[low[i]]);
        cr_assert_float_eq(bars[i].height / bars[3].height, (double)bins[low[i]] / 120, .001);
        cr_assert_float_eq(bars[i].y + bars[i].height, bars[3].y + bars[3].height, .011);
        double step = (bars[3].x - bars[0].x) / 49;
        cr_assert_float_eq(bars[i].x, bars[0].x + (low[i] - 50) * step, .011);
    }
    cr_assert(strstr(draw(bins, .5), "linear scale") != NULL);
}

Test(histogram, counts_of_several_magnitudes_stand_on_a_logarithmic_scale)
{
    uint64_t bins[100] = {[80] = 1, [81] = 10, [82] = 100, [83] = 1000, [84] = 100000};
    bar bars[100];
    const char *svg = draw(bins, .8);
    cr_assert_eq(bars_of(svg, bars), 5);
    double decade = bars[1].height - bars[0].height;
    cr_assert(decade > 10 && bars[0].height > 1, "one pair is still a bar");
    cr_assert_float_eq(bars[2].height - bars[1].height, decade, .021);
    cr_assert_float_eq(bars[3].height - bars[2].height, decade, .021);
    cr_assert_float_eq(bars[4].height - bars[3].height, 2 * decade, .021);
    cr_assert_float_eq(bars[0].height, decade * log10(2), .021);
    cr_assert(strstr(svg, ">100,000<") != NULL && strstr(svg, "(log scale)") != NULL);
}

Test(histogram, everything_lies_within_the_picture_at_any_threshold_and_count)
{
    static const double thresholds[] = {1e-300, .05, .1, .35, .699, .7, .857, .99, .999, 1};
    for (int t = 0; t < 10; t++) {
        for (uint64_t most = 0; most < UINT64_MAX / 8; most = most * 7 + 1) {
            uint64_t bins[100] = {0};
            unsigned first = bm_histogram_bin(thresholds[t]);
            for (unsigned i = first; i < 100; i++)
                bins[i] = i % 3 == 0 ? most : most / (i + 1);
            bar bars[100];
            const char *svg = draw(bins, thresholds[t]);
            size_t n = bars_of(svg, bars), filled = 0;
            for (unsigned i = 0; i < 100; i++)
                filled += bins[i] > 0;
            cr_assert_eq(n, filled);
            for (size_t i = 0; i < n; i++) {
                cr_assert(bars[i].x >= 88 && bars[i].x + bars[i].width <= 696);
                cr_assert(bars[i].y >= 72 && bars[i].height >= 0 && bars[i].width > 0);
            }
            size_t ticks = 0;
            for (const char *at = svg; (at = strstr(at, "class=\"grid\"")) != NULL; at++)
                ticks++;
            cr_assert(ticks >= 2 && ticks <= 20, "%zu", ticks);
            cr_assert(strstr(svg, "-") == NULL || strstr(svg, "=\"-") == NULL,
                      "nothing is negative");
        }
    }
}
