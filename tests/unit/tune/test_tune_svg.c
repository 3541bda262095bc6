/* SPDX-License-Identifier: Apache-2.0 */
/* test_tune_svg.c -- the chart of plans: one panel per text, bars with the height of their counts,
 * curves that follow P, and a text alternative. */
#include <criterion/criterion.h>

#include <bandmill/sketch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file_names.h"
#include "tune/tune_result.h"

static bm_tune_plan plans[] = {{.bands = 20, .rows = 5, .recall = .9996},
                               {.bands = 42, .rows = 3, .recall = 1},
                               {.bands = 9, .rows = 7, .recall = .9}};

static char *draw(const bm_tune_result *result)
{
    bm_buf out = {0};
    cr_assert_eq(bm_tune_svg(&out, result, NULL), BM_OK);
    cr_assert_eq(bm_buf_end(&out, NULL), BM_OK);
    cr_assert(bm_file_head_is_ours(out.data, out.len));
    return out.data;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

static bm_tune_documents documents_of(const char *shingle)
{
    bm_tune_documents d = {.sample = {.distinct = 12345, .sampled = 2000, .similar_pairs = 777}};
    snprintf(d.sample.shingle, sizeof d.sample.shingle, "%s", shingle);
    d.pairs[0] = 1e6;
    d.pairs[50] = 1000;
    d.pairs[99] = 1;
    return d;
}

Test(tune_svg, has_a_panel_for_each_text)
{
    bm_tune_documents documents[3] = {documents_of("word:1"), documents_of("word:2"),
                                      documents_of("char:9")};
    for (size_t n = 1; n <= 3; n++) {
        const bm_tune_result result = {.bands = {.threshold = .8},
                                       .plans = plans,
                                       .n_plans = 3,
                                       .chosen = 1,
                                       .samples = documents,
                                       .n_samples = n};
        char *svg = draw(&result);
        cr_expect_eq(count(svg, "<rect class=\"bar\""), 3 * n);
        cr_expect_eq(count(svg, "<path class=\"curve"), 3 * n);
        cr_expect_eq(count(svg, "<path class=\"curve chosen\""), n);
        cr_expect_eq(count(svg, "12,345 distinct documents, 2,000 of them"), n);
        cr_expect_eq(count(svg, ">word:1</text>"), 1);
        cr_expect_eq(count(svg, ">char:9</text>"), n == 3);
        cr_expect_eq(count(svg, "<desc id=\"desc\">"), 1);
        cr_expect_eq(count(svg, "777 of them at the threshold"), n);
        cr_expect_eq(count(svg, "<"), count(svg, ">"));
        free(svg);
    }
}

/* The points of the first path with this class. */
static size_t points_of(const char *svg, const char *class_name, double (*points)[2])
{
    char begin[64];
    size_t n = 0;
    snprintf(begin, sizeof begin, "<path class=\"curve %s\" d=\"", class_name);
    const char *at = strstr(svg, begin);
    cr_assert_not_null(at);
    for (at += strlen(begin); *at != '"' && n < 500; n++) {
        int used;
        cr_assert_eq(sscanf(at + 1, "%lf %lf%n", &points[n][0], &points[n][1], &used), 2);
        at += 1 + used;
    }
    return n;
}

Test(tune_svg, curves_go_through_the_probabilities)
{
    static double points[500][2];
    const bm_tune_result result = {
        .bands = {.threshold = .5}, .plans = plans, .n_plans = 3, .chosen = 0};
    char *svg = draw(&result);
    const size_t n = points_of(svg, "chosen", points);
    cr_assert_gt(n, 100);
    const double x0 = points[0][0], x1 = points[n - 1][0], y0 = points[0][1], y1 = points[n - 1][1];
    for (size_t i = 0; i < n; i++) {
        const double s = (points[i][0] - x0) / (x1 - x0), p = (points[i][1] - y0) / (y1 - y0);
        cr_assert(fabs(p - bm_band_probability(20, 5, s)) < 2e-3, "%g: %g", s, p);
    }
    cr_expect_eq(count(svg, "<rect class=\"bar\""), 0);
    cr_expect_eq(count(svg, ">threshold 0.5</text>"), 1);
    cr_expect_eq(count(svg, "curve cheapest"), 0); /* the cheapest plan is the chosen one */
    free(svg);
}

Test(tune_svg, bars_are_as_high_as_their_counts_on_a_logarithmic_axis)
{
    bm_tune_documents documents = documents_of("word:5");
    const bm_tune_result result = {.bands = {.threshold = .8},
                                   .plans = plans,
                                   .n_plans = 1,
                                   .samples = &documents,
                                   .n_samples = 1};
    char *svg = draw(&result);
    double height[3], y;
    int i = 0;
    for (const char *at = svg; (at = strstr(at, "<rect class=\"bar\"")) != NULL; at++, i++)
        cr_assert_eq(sscanf(at,
                            "<rect class=\"bar\" x=\"%*f\" y=\"%lf\" width=\"%*f\" height=\"%lf\"",
                            &y, &height[i]),
                     2);
    cr_assert_eq(i, 3);
    /* the axis begins at a half, so the height is log(2n) */
    cr_expect(fabs(height[1] / height[0] - log(2e3) / log(2e6)) < 1e-3);
    cr_expect(fabs(height[2] / height[0] - log(2) / log(2e6)) < 1e-3);
    cr_expect_eq(count(svg, "(log scale)"), 1);
    cr_expect_not_null(strstr(svg, "<title>0.99 to 1.00: 1 pair</title>"));
    free(svg);
}
