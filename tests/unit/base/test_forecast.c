/* SPDX-License-Identifier: Apache-2.0 */
/* test_forecast.c -- the forecast of a job's progress: exact if the weights are right, soon close
 * if they are not, and never going back. The test sets the clock. */
#include <criterion/criterion.h>

#include <math.h>

#include "base/meter.c"

static const bm_forecast_step steps[] = {
    {"read", 1, NULL}, {"match", 2, "compare"}, {"group", 0.5, NULL}, {"write", 1.5, NULL}};

typedef struct run {
    bm_forecast f;
    double now;
    bm_forecast_view view; /* the last one */
} run;

static void begin(run *r)
{
    *r = (run){.now = 100};
    forecast_plan(&r->f, steps, 4, r->now);
}

/* Runs a stage for `seconds` and updates the forecast `looks` times, the last time at its end.
 * Checks at each update that the share done has not fallen, and that the time left has grown by at
 * most ten times the time since the update before. */
static void pass(run *r, const char *stage, double seconds, int looks, bool tells)
{
    const double began = r->now;
    forecast_stage(&r->f, stage, r->now);
    for (int i = 1; i <= looks; i++) {
        const bm_forecast_view before = r->view;
        r->now = began + seconds * i / looks;
        r->view = forecast_update(&r->f, tells ? (double)i / looks : -1, r->now);
        cr_assert(r->view.done >= before.done && r->view.done <= 1, "%s: %g after %g", stage,
                  r->view.done, before.done);
        cr_assert_float_eq(r->view.elapsed_s, r->now - 100, 1e-9);
        if (before.left_s > 0)
            cr_assert(r->view.left_s <= before.left_s + 10 * seconds / looks,
                      "%s: %g s left after %g s", stage, r->view.left_s, before.left_s);
    }
}

Test(forecast, is_exact_where_the_weights_are)
{
    run r;
    begin(&r);
    pass(&r, "read", 10, 40, true);
    cr_expect_float_eq(r.view.left_s, 40, 1e-6);
    cr_expect_float_eq(r.view.done, 0.2, 1e-9);
    pass(&r, "match", 5, 5, false);
    pass(&r, "compare", 15, 40, true);
    cr_expect_float_eq(r.view.left_s, 20, 1e-6);
    pass(&r, "group", 5, 1, true);
    pass(&r, "write", 7.5, 10, true);
    cr_expect_eq(r.view.number, 4u);
    cr_expect_eq(r.view.n, 4u);
    cr_expect_float_eq(r.view.done, 1, 1e-9);
    cr_expect_float_eq(r.view.left_s, 0, 1e-9);
}

Test(forecast, says_which_step_of_how_many)
{
    run r;
    begin(&r);
    bm_forecast_view view = forecast_update(&r.f, -1, 100);
    cr_expect(view.number == 0 && view.n == 4 && view.left_s < 0 && view.done <= 0);
    static const struct {
        const char *stage;
        uint32_t number;
    } rows[] = {{"read", 1},    {"read", 1},  {"unplanned", 1}, {"match", 2},
                {"compare", 2}, {"write", 4}, {"read", 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        forecast_stage(&r.f, rows[i].stage, 100 + (double)i);
        cr_expect_eq(forecast_update(&r.f, 0.1, 100 + (double)i).number, rows[i].number, "%s",
                     rows[i].stage);
    }
}

Test(forecast, a_wrong_weight_moves_it_slowly_and_not_back)
{
    static const double factors[] = {0.01, 0.2, 1, 3, 20};
    for (size_t a = 0; a < 5; a++) {
        for (size_t b = 0; b < 5; b++) {
            run r;
            begin(&r);
            pass(&r, "read", 10 * factors[a], 100, true);
            pass(&r, "match", 20 * factors[b], 100, false);
            pass(&r, "group", 5, 1, true);
            pass(&r, "write", 15 * factors[a] * factors[b], 100, true);
            cr_expect_float_eq(r.view.left_s, 0, 1e-6);
        }
    }
}

Test(forecast, what_a_step_shows_counts_for_more_the_more_of_it_is_done)
{
    run r;
    begin(&r);
    pass(&r, "read", 10, 10, true);
    forecast_stage(&r.f, "match", 110); /* the weights predict 20 s; it will take 200 */
    forecast_stage(&r.f, "compare", 110);
    const double behind = 20; /* seconds of the steps after this one, by the weights */
    double error = 1e9;
    for (int i = 1; i <= 10; i++) {
        const bm_forecast_view view = forecast_update(&r.f, i / 10.0, 110 + 20 * i);
        const double of_step = 200.0 - 20 * i, off = fabs(view.left_s - of_step) / 200;
        cr_expect_leq(off, error + behind / 10, "%d", i);
        error = off;
    }
}

Test(forecast, without_a_plan_or_a_pace_nothing_is_claimed)
{
    bm_forecast none = {0};
    forecast_stage(&none, "read", 5);
    const bm_forecast_view view = forecast_update(&none, 0.5, 6);
    cr_expect(view.n == 0 && view.number == 0 && view.left_s < 0 && view.done <= 0);
    run r;
    begin(&r);
    pass(&r, "read", 10, 3, false); /* standard input: nobody knows how much there is */
    cr_expect_lt(r.view.left_s, 0.0);
    pass(&r, "match", 1, 1, false);
    cr_expect_geq(r.view.left_s, 0.0, "what has gone by tells a pace");
}
