/* test_plan_list.c -- lists of plans against a search that tries every one; the published case of
 * 128 permutations; the least number of permutations against trying one after another. */
#include <criterion/criterion.h>

#include <bandmill/sketch.h>
#include <bandmill/tune.h>
#include <math.h>
#include <string.h>

#include "lsh/band_plan.h"

static bool fits(const bm_plan_goal *w, uint32_t b, uint32_t r)
{
    return bm_band_probability(b, r, w->threshold) >= w->recall &&
           (w->ceiling_similarity == 0 ||
            bm_band_probability(b, r, w->ceiling_similarity) <= w->ceiling_probability);
}

static size_t count(const bm_plan_goal *w)
{
    size_t n = 0;
    for (uint32_t r = 1; r <= w->perms; r++)
        for (uint32_t b = 1; b * r <= w->perms; b++)
            n += fits(w, b, r);
    return n;
}

/* n plans, each of which fits, in order and so each once: these are all. */
static void expect_all(const bm_plan_goal *w, const bm_plan_list *list)
{
    cr_assert_eq(list->n, count(w), "%zu plans at %g %g %g:%g of %u", list->n, w->threshold,
                 w->recall, w->ceiling_similarity, w->ceiling_probability, w->perms);
    for (size_t i = 0; i < list->n; i++) {
        const bm_band_shape *x = &list->shapes[i], *y = i > 0 ? x - 1 : NULL;
        cr_assert(fits(w, x->bands, x->rows) && x->bands * x->rows <= w->perms);
        cr_assert(y == NULL || y->bands * y->rows < x->bands * x->rows ||
                  (y->bands * y->rows == x->bands * x->rows && y->bands < x->bands));
    }
}

Test(plan_list, holds_every_plan_that_fits_cheapest_first)
{
    static const double thresholds[] = {.2, .5, .8, .95, 1}, recalls[] = {.5, .9, .99};
    static const double ceilings[][2] = {{0, 0}, {.05, .006}, {.3, .1}, {.7, .01}};
    static const uint32_t perms[] = {1, 12, 128, 500};
    for (int i = 0; i < 5 * 3 * 4 * 4; i++) {
        const bm_plan_goal w = {.threshold = thresholds[i % 5],
                                .recall = recalls[i / 5 % 3],
                                .ceiling_similarity = ceilings[i / 15 % 4][0],
                                .ceiling_probability = ceilings[i / 15 % 4][1],
                                .perms = perms[i / 60]};
        bm_plan_list list = {0};
        bm_error err = {0};
        const bm_status status = bm_plan_list_make(&w, &list, &err);
        cr_assert_eq(status, count(&w) > 0 ? BM_OK : BM_NOT_FOUND, "%s", err.message);
        expect_all(&w, &list);
        bm_plan_list_reset(&list);
    }
}

Test(plan_list, the_case_of_128_permutations_has_42_bands_of_3_rows)
{
    const bm_plan_goal w = {.5, .99, .05, .006, 128};
    bm_plan_list list = {0};
    bool found = false;
    cr_assert_eq(bm_plan_list_make(&w, &list, NULL), BM_OK);
    for (size_t i = 0; i < list.n; i++)
        found = found || (list.shapes[i].bands == 42 && list.shapes[i].rows == 3);
    cr_expect(found);
    cr_expect(fabs(bm_band_probability(42, 3, .5) - .9963) < 5e-5);
    cr_expect(fabs(bm_band_probability(42, 3, .05) - .0052) < 5e-5);
    bm_plan_list_reset(&list);
}

Test(plan_list, the_least_permutations_are_the_first_number_that_has_a_plan)
{
    static const double wishes[][4] = {{.5, .99, .05, .006}, {.5, .99, .05, .001}, {.8, .95, 0, 0},
                                       {.8, .95, .5, .1},    {.9, .9, .85, .6},    {1, .5, .9, .2}};
    for (int i = 0; i < 6; i++) {
        bm_plan_goal w = {wishes[i][0], wishes[i][1], wishes[i][2], wishes[i][3], 1};
        const uint64_t least = bm_plan_least_perms(&w);
        while (w.perms < BM_PERMS_MAX && count(&w) == 0)
            w.perms++;
        cr_assert_eq(w.perms, least, "%d: %llu", i, (unsigned long long)least);
    }
}

Test(plan_list, a_wish_that_nothing_fits_names_the_least_permutations)
{
    bm_plan_goal w = {.5, .99, .05, .001, 64};
    bm_plan_list list = {0};
    bm_error err = {0};
    cr_assert_eq(bm_plan_list_make(&w, &list, &err), BM_NOT_FOUND);
    cr_expect_not_null(strstr(err.message, "least number that has one is 288"), "%s", err.message);
    cr_expect_eq(list.n, 0);
    w = (bm_plan_goal){.5, .99, .3, .001, 1024};
    cr_assert_eq(bm_plan_list_make(&w, &list, &err), BM_NOT_FOUND);
    cr_expect_not_null(strstr(err.message, "a signature has at most 1024"), "%s", err.message);
    w = (bm_plan_goal){.5, .99, .05, .001, 64};
    w.perms = 288;
    cr_assert_eq(bm_plan_list_make(&w, &list, NULL), BM_OK);
    bm_plan_list_reset(&list);
    w.perms = 287;
    cr_assert_eq(bm_plan_list_make(&w, &list, NULL), BM_NOT_FOUND);
    /* at the threshold itself P cannot be both */
    w = (bm_plan_goal){.5, .99, .5, .5, 128};
    cr_assert_eq(bm_plan_list_make(&w, &list, &err), BM_NOT_FOUND);
    cr_expect_not_null(strstr(err.message, "no number of permutations has"), "%s", err.message);
    /* there is one, of 6 * 10^9: more than is looked at */
    w = (bm_plan_goal){.3, .99, .2, .01, 2};
    cr_assert_eq(bm_plan_list_make(&w, &list, &err), BM_NOT_FOUND);
    cr_expect_not_null(strstr(err.message, "permutations below 2^32 has"), "%s", err.message);
    /* nearly so: there is one, and no signature has it */
    w = (bm_plan_goal){.5, .99, .49, .5, 128};
    cr_assert_eq(bm_plan_list_make(&w, &list, &err), BM_NOT_FOUND);
    cr_expect_not_null(strstr(err.message, "more than a signature may have") != NULL
                           ? err.message
                           : strstr(err.message, "no number"),
                       "%s", err.message);
}

Test(plan_list, what_is_out_of_range_is_refused_by_its_field)
{
    static const struct {
        bm_plan_goal wish;
        const char *field;
    } wrong[] = {{{0, .9, 0, 0, 9}, "threshold"},
                 {{1.1, .9, 0, 0, 9}, "threshold"},
                 {{.5, 0, 0, 0, 9}, "recall"},
                 {{.5, 1, 0, 0, 9}, "recall"},
                 {{.5, .9, 0, 0, 0}, "perms"},
                 {{.5, .9, 0, 0, BM_TUNE_PERMS_MAX + 1}, "perms"},
                 {{.5, .9, 0, .5, 9}, "ceiling_similarity"},
                 {{.5, .9, -1, .5, 9}, "ceiling_similarity"},
                 {{.5, .9, 1.5, .5, 9}, "ceiling_similarity"},
                 {{.5, .9, .5, 0, 9}, "ceiling_probability"},
                 {{.5, .9, .5, 1, 9}, "ceiling_probability"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bm_plan_list list = {0};
        bm_error err = {0};
        cr_expect_eq(bm_plan_list_make(&wrong[i].wish, &list, &err), BM_ERR_USAGE, "%zu", i);
        cr_expect_eq(bm_plan_goal_check(&wrong[i].wish, NULL), BM_ERR_USAGE);
        cr_expect_str_eq(err.field, wrong[i].field);
    }
}
