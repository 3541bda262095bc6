/* SPDX-License-Identifier: Apache-2.0 */
/* test_band_curve.c -- slope and steepest point, compared with numeric derivatives of the plain
 * formula 1 - (1 - s^r)^b in long double arithmetic. */
#include <criterion/criterion.h>

#include <math.h>

#include <bandmill/sketch.h>
#include <bandmill/tune.h>

static long double curve(uint32_t b, uint32_t r, long double s)
{
    return 1 - powl(1 - powl(s, r), b);
}

static long double derivative(uint32_t b, uint32_t r, long double s)
{
    const long double h = 1e-5L;
    return (curve(b, r, s + h) - curve(b, r, s - h)) / (2 * h);
}

Test(band_curve, slope_is_the_numeric_derivative)
{
    static const uint32_t shapes[][2] = {{20, 5}, {42, 3}, {13, 7}, {1, 4},
                                         {9, 1},  {1, 1},  {64, 16}};
    for (int i = 0; i < 7; i++)
        for (int k = 1; k < 100; k++) {
            const uint32_t b = shapes[i][0], r = shapes[i][1];
            const double s = k / 100.0;
            const double wanted = (double)derivative(b, r, s), got = bm_band_slope(b, r, s);
            cr_assert(fabs(got - wanted) <= 1e-6 * (1 + fabs(wanted)), "%u x %u at %g: %g, %g", b,
                      r, s, got, wanted);
        }
}

Test(band_curve, slope_has_its_limits_at_the_ends)
{
    cr_expect_eq(bm_band_slope(9, 1, 0), 9);
    cr_expect_eq(bm_band_slope(9, 2, 0), 0);
    cr_expect_eq(bm_band_slope(1, 7, 1), 7);
    cr_expect_eq(bm_band_slope(2, 7, 1), 0);
    cr_expect(isnan(bm_band_slope(2, 7, (double)NAN)));
    cr_expect_eq(bm_band_slope(0, 7, .5), 0);
    cr_expect_eq(bm_band_slope(7, 0, .5), 0);
    /* b r s^(r-1) to first order; the other terms are too small to matter */
    cr_expect(fabs(bm_band_slope(3, 100, 1e-2) / 3e-196 - 1) < 1e-12);
}

/* Finds the maximum of the numeric derivative by bisection: the second derivative changes its sign
 * only once. */
static double search_steepest(uint32_t b, uint32_t r)
{
    long double low = .001L, high = .999L;
    for (int i = 0; i < 60; i++) {
        const long double middle = (low + high) / 2, h = 1e-4L;
        if (derivative(b, r, middle + h) > derivative(b, r, middle - h))
            low = middle;
        else
            high = middle;
    }
    return (double)low;
}

Test(band_curve, steepest_point_is_where_the_numeric_derivative_is_greatest)
{
    for (uint32_t b = 2; b <= 60; b += 7)
        for (uint32_t r = 2; r <= 14; r++) {
            const double wanted = search_steepest(b, r), got = bm_band_steepest(b, r);
            cr_assert(fabs(got - wanted) < 1e-4, "%u x %u: %g, %g", b, r, got, wanted);
        }
}

Test(band_curve, steepest_point_of_one_band_or_one_row)
{
    cr_expect_eq(bm_band_steepest(1, 5), 1); /* s^5 */
    cr_expect_eq(bm_band_steepest(5, 1), 0); /* 1 - (1 - s)^5 */
    cr_expect_eq(bm_band_steepest(1, 1), 0); /* the slope is the same everywhere */
    cr_expect_eq(bm_band_steepest(0, 3), 0);
}

Test(band_curve, the_usual_estimate_is_the_root_of_one_in_b)
{
    for (uint32_t b = 1; b < 100; b++)
        for (uint32_t r = 1; r < 12; r++)
            cr_assert(fabs(pow(bm_band_steepest_about(b, r), r) * b - 1) < 1e-12);
    cr_expect_eq(bm_band_steepest_about(0, 3), 0);
    cr_expect_eq(bm_band_steepest_about(3, 0), 0);
}

Test(band_curve, similarity_at_a_probability_is_where_the_curve_has_it)
{
    static const double steps[] = {1e-12, .001, .01, .3, .5, .99, .999};
    for (uint32_t b = 1; b <= 65536; b = b * 3 + 1)
        for (uint32_t r = 1; r <= 400; r = r * 2 + 1)
            for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
                const double s = bm_band_similarity(b, r, steps[i]);
                const double back = bm_band_probability(b, r, s);
                cr_assert(s > 0 && s <= 1 && fabs(back / steps[i] - 1) < 1e-10,
                          "%u x %u at %g: %.17g gives %.17g", b, r, steps[i], s, back);
            }
    cr_expect_eq(bm_band_similarity(20, 5, 0), 0);
    cr_expect_eq(bm_band_similarity(20, 5, 1), 1);
    cr_expect(isnan(bm_band_similarity(0, 5, .5)) && isnan(bm_band_similarity(5, 0, .5)));
    cr_expect(isnan(bm_band_similarity(20, 5, -.1)) && isnan(bm_band_similarity(20, 5, 1.1)) &&
              isnan(bm_band_similarity(20, 5, NAN)));
}
