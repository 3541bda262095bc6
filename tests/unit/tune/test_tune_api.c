/* SPDX-License-Identifier: Apache-2.0 */
/* test_tune_api.c -- bm_tune: which plan it chooses, and its two texts. */
#include <criterion/criterion.h>

#include <bandmill/sketch.h>
#include <bandmill/tune.h>
#include <math.h>
#include <string.h>

static bm_tune_options options_of(double threshold, double recall, uint32_t perms)
{
    bm_tune_options o;
    bm_tune_options_init(&o);
    o.bands.threshold = threshold;
    o.bands.recall = recall;
    o.perms = perms;
    return o;
}

Test(tune_api, defaults_are_those_of_dedup)
{
    bm_tune_options o;
    bm_tune_options_init(&o);
    cr_expect(o.bands.threshold == .8 && o.bands.recall == .95 && o.perms == 0);
    cr_expect_eq(o.struct_size, sizeof o);
}

Test(tune_api, with_a_ceiling_the_cheapest_plan_is_chosen)
{
    bm_tune_options o = options_of(.5, .99, 128);
    bm_tune_result *result = NULL;
    o.ceiling_similarity = .05;
    o.ceiling_probability = .006;
    cr_assert_eq(bm_tune(&o, &result, NULL), BM_OK);
    cr_expect_eq(bm_tune_result_chosen(result), 0);
    const bm_tune_plan *plan = bm_tune_result_plan(result, bm_tune_result_count(result) - 1);
    cr_expect(plan->bands == 42 && plan->rows == 3 && plan->used == 126 && plan->unused == 2);
    cr_expect(fabs(plan->recall - .9963) < 5e-5 && fabs(plan->at_ceiling - .0052) < 5e-5);
    bm_tune_result_free(result);
}

Test(tune_api, without_a_ceiling_the_plan_that_dedup_chooses_is_chosen)
{
    for (int t = 3; t <= 10; t++) {
        const bm_tune_options o = options_of(t / 10.0, .95, 128);
        bm_tune_result *result = NULL;
        bm_band_plan wanted;
        cr_assert_eq(bm_tune(&o, &result, NULL), BM_OK);
        cr_assert_eq(bm_band_plan_choose(t / 10.0, .95, 128, &wanted, NULL), BM_OK);
        const bm_tune_plan *plan = bm_tune_result_plan(result, bm_tune_result_chosen(result));
        cr_expect(plan->bands == wanted.bands && plan->rows == wanted.rows, "%d", t);
        cr_expect_eq(plan->recall, wanted.predicted_recall);
        cr_expect(isnan(plan->at_ceiling));
        bm_tune_result_free(result);
    }
}

Test(tune_api, a_plan_by_hand_is_the_only_one_whatever_its_recall)
{
    bm_tune_options o = options_of(.3, .95, 0);
    bm_tune_result *result = NULL;
    o.bands.bands = 20;
    o.bands.rows = 5;
    o.ceiling_similarity = .2;
    o.ceiling_probability = 1e-9;
    cr_assert_eq(bm_tune(&o, &result, NULL), BM_OK);
    cr_assert_eq(bm_tune_result_count(result), 1);
    const bm_tune_plan *plan = bm_tune_result_plan(result, 0);
    cr_expect(plan->bands == 20 && plan->rows == 5 && plan->unused == 0);
    cr_expect(fabs(plan->recall - .047) < 5e-4 && fabs(plan->at_ceiling - .006) < 5e-4);
    cr_expect_eq(plan->steepest, bm_band_steepest(20, 5));
    cr_expect_eq(plan->steepest_about, bm_band_steepest_about(20, 5));
    cr_expect_eq(plan->slope, bm_band_slope(20, 5, plan->steepest));
    cr_expect_null(bm_tune_result_plan(result, 1));
    cr_expect_not_null(strstr(bm_tune_result_table(result), "\n0.5\t0.470051\n"));
    cr_expect_not_null(
        strstr(bm_tune_result_json(result), "{\"similarity\":0.5,\"probability\":0.47005"));
    bm_tune_result_free(result);
}

Test(tune_api, nothing_that_fits_is_not_found_and_leaves_the_result_as_it_was)
{
    bm_tune_options o = options_of(.5, .99, 16);
    bm_tune_result *const before = (bm_tune_result *)(uintptr_t)0x10, *result = before;
    bm_error err = {0};
    o.ceiling_similarity = .05;
    o.ceiling_probability = .006;
    cr_expect_eq(bm_tune(&o, &result, &err), BM_NOT_FOUND);
    cr_expect_eq(result, before);
    cr_expect_not_null(strstr(err.message, "is 105)"), "%s", err.message); /* 35 x 3 */
}
