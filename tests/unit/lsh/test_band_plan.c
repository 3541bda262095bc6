/* SPDX-License-Identifier: Apache-2.0 */
/* test_band_plan.c -- band plans checked against the formula of the S-curve: by exhaustive search,
 * in long double arithmetic, and with values from the literature (Leskovec, Rajaraman, Ullman:
 * Mining of Massive Datasets, figure 3.8: b = 20, r = 5). */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lsh/band_plan.c"

static void near(double got, double wanted, double slack)
{
    cr_assert(fabs(got - wanted) <= slack, "%.17g is not %.17g", got, wanted);
}

/* 1 - (1 - s^r)^b by another formula, with the 64-bit mantissa of long double. */
static long double curve(uint32_t b, uint32_t r, long double s)
{
    return 1 - powl(1 - powl(s, r), b);
}

Test(band_plan, probability_is_the_published_curve_of_20_bands_of_5_rows)
{
    static const double wanted[] = {.006, .047, .186, .470, .802, .975, .9996};
    for (int i = 0; i < 7; i++)
        near(bm_band_probability(20, 5, .2 + .1 * i), wanted[i], i == 6 ? 5e-5 : 5e-4);
    near(bm_band_probability(42, 3, .5), .996, 5e-4);
    near(bm_band_probability(42, 3, .05), .005, 5e-4);
}

Test(band_plan, probability_equals_long_double_arithmetic)
{
    for (uint32_t b = 1; b <= 64; b += 7)
        for (uint32_t r = 1; r <= 16; r++)
            for (int i = 1; i < 100; i++)
                near(bm_band_probability(b, r, i / 100.0), (double)curve(b, r, i / 100.0L), 1e-14);
}

Test(band_plan, probability_keeps_its_digits_where_a_band_hardly_ever_agrees)
{
    /* b * s^r to first order: the next term is smaller by 1e-18 */
    near(bm_band_probability(3, 6, 1e-3) / 3e-18, 1, 1e-14);
    near(bm_band_probability(128, 100, 1e-2) / 1.28e-198, 1, 1e-12);
}

Test(band_plan, probability_is_0_at_0_and_1_at_1)
{
    for (uint32_t b = 1; b < 40; b += 3) {
        cr_assert_eq(bm_band_probability(b, 4, 0), 0);
        cr_assert_eq(bm_band_probability(b, 4, 1), 1);
    }
    cr_assert_eq(bm_band_probability(0, 4, .5), 0);
    cr_assert(isnan(bm_band_probability(4, 4, (double)NAN)));
}

/* Tries all numbers of rows and bands. */
static bool search(double t, double recall, uint32_t perms, uint32_t *bands, uint32_t *rows)
{
    for (*rows = perms; *rows > 0; (*rows)--)
        for (*bands = 1; *bands <= perms / *rows; (*bands)++)
            if (bm_band_probability(*bands, *rows, t) >= recall)
                return true;
    return false;
}

Test(band_plan, choose_equals_a_search_that_tries_every_plan)
{
    static const double thresholds[] = {.01, .05, .1, .3, .5, .7, .8, .9, .95, .99, .999, 1};
    static const double recalls[] = {.01, .5, .9, .95, .99, .999999};
    static const uint32_t perms[] = {1, 2, 16, 100, 128, 256, 1024};
    for (int i = 0; i < 12 * 6 * 7; i++) {
        double t = thresholds[i % 12], recall = recalls[i / 12 % 6];
        uint32_t k = perms[i / 72], bands = 0, rows = 0;
        bm_band_plan plan = {.bands = 77};
        bool any = search(t, recall, k, &bands, &rows);
        bm_status status = bm_band_plan_choose(t, recall, k, &plan, NULL);
        cr_assert_eq(status, any ? BM_OK : BM_ERR_USAGE);
        cr_assert_eq(plan.bands, any ? bands : 77, "t %g recall %g k %u", t, recall, k);
        if (!any)
            continue;
        cr_assert_eq(plan.rows, rows);
        cr_assert_eq(plan.perms, k);
        cr_assert(plan.predicted_recall >= recall);
        near(plan.predicted_recall, (double)curve(bands, rows, t), 1e-14);
    }
}

Test(band_plan, default_plan_of_128_permutations_at_08)
{
    /* By hand: .8^9 = .134; 14 bands of 9 rows: 1 - .866^14 = .866 < .95; .8^8 = .168, 16 bands of
     * 8 rows: .947 < .95; .8^7 = .210, b = ceil(log .05 / log .790) = 13 <= 18. */
    bm_band_plan plan;
    cr_assert_eq(bm_band_plan_choose(.8, .95, 128, &plan, NULL), BM_OK);
    cr_assert_eq(plan.rows, 7);
    cr_assert_eq(plan.bands, 13);
}

Test(band_plan, no_plan_names_the_least_permutations_that_have_one)
{
    for (int i = 1; i < 60; i++) {
        double t = i * .001;
        bm_error err = {0};
        uint32_t least = 1, bands, rows;
        while (!search(t, .95, least, &bands, &rows) && least < 1024)
            least++;
        bm_band_plan plan;
        if (least < 2 || least >= 1024)
            continue;
        cr_assert_eq(bm_band_plan_choose(t, .95, least - 1, &plan, &err), BM_ERR_USAGE);
        char words[64];
        snprintf(words, sizeof words, "at least %u are needed", least);
        cr_assert(strstr(err.message, words) != NULL, "%s: %s", words, err.message);
        cr_assert_eq(bm_band_plan_choose(t, .95, least, &plan, &err), BM_OK);
    }
    bm_error err = {0};
    bm_band_plan plan;
    cr_assert_eq(bm_band_plan_choose(1e-300, .95, 1024, &plan, &err), BM_ERR_USAGE);
    cr_assert(strstr(err.message, "more than a signature may have") != NULL, "%s", err.message);
}

Test(band_plan, options_out_of_range_are_usage_errors_that_say_what_was_expected)
{
    bm_band_plan plan;
    bm_error err = {0};
    static const double thresholds[] = {0, -.5, 1.0001, (double)NAN, (double)INFINITY};
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(bm_band_plan_choose(thresholds[i], .95, 128, &plan, &err), BM_ERR_USAGE);
        cr_assert(strstr(err.message, "above 0, at most 1") != NULL, "%s", err.message);
    }
    static const double recalls[] = {0, 1, -1, 2, (double)NAN};
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(bm_band_plan_choose(.8, recalls[i], 128, &plan, &err), BM_ERR_USAGE);
        cr_assert(strstr(err.message, "above 0, below 1") != NULL, "%s", err.message);
    }
    cr_assert_eq(bm_band_plan_choose(.8, .95, 0, &plan, &err), BM_ERR_USAGE);
    cr_assert_eq(bm_band_plan_choose(.8, .95, 1025, &plan, &err), BM_ERR_USAGE);
    cr_assert(strstr(err.message, "1 to 1024") != NULL, "%s", err.message);
}

static bm_status fixed(uint32_t perms, uint32_t bands, uint32_t rows, bm_band_plan *out,
                       bm_error *err)
{
    bm_band_plan wanted = {
        .perms = perms, .bands = bands, .rows = rows, .threshold = .5, .recall = .95};
    return band_plan_fixed(&wanted, out, err);
}

Test(band_plan, a_plan_by_hand_must_fit_its_permutations)
{
    bm_band_plan plan = {0};
    bm_error err = {0};
    cr_assert_eq(fixed(128, 16, 8, &plan, &err), BM_OK);
    cr_assert_eq(plan.bands, 16);
    cr_assert_eq(plan.rows, 8);
    near(plan.predicted_recall, (double)curve(16, 8, .5L), 1e-14);
    cr_assert_eq(fixed(127, 16, 8, &plan, &err), BM_ERR_USAGE);
    cr_assert(strstr(err.message, "128") != NULL && strstr(err.message, "127") != NULL);
    cr_assert_eq(fixed(128, 0, 8, &plan, &err), BM_ERR_USAGE);
    cr_assert_eq(fixed(128, 8, 0, &plan, &err), BM_ERR_USAGE);
    cr_assert_eq(fixed(128, 0x80000000u, 2, &plan, &err), BM_ERR_USAGE);
    cr_assert_eq(plan.bands, 16, "a refused plan must leave the output alone");
}
