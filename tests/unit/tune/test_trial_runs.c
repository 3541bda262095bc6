/* SPDX-License-Identifier: Apache-2.0 */
/* test_trial_runs.c -- the candidates of trial runs against pairs that are counted one by one;
 * ranges by hand. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "tune/pair_census.h"
#include "sketch/scheme.h"

enum { DOCS = 150, MOST = 12 };

typedef struct world {
    uint64_t hashes[DOCS][MOST];
    const uint64_t *sets[DOCS];
    uint32_t sizes[DOCS];
} world;

/* Documents of few words out of few, so that many share bands; a third have one word that is the
 * same. */
static void make_world(world *w)
{
    bm_random random;
    bm_random_init(&random, 11);
    for (size_t i = 0; i < DOCS; i++) {
        w->sizes[i] = 2 + (uint32_t)bm_random_range(&random, 0, MOST - 1);
        w->sets[i] = w->hashes[i];
        for (uint32_t k = 0; k < w->sizes[i]; k++)
            w->hashes[i][k] = (1 + bm_random_range(&random, 0, 40)) * UINT64_C(0x9E3779B97F4A7C15);
        if (i % 3 == 0)
            w->hashes[i][0] = 7;
    }
}

static bool share_a_band(const uint32_t *x, const uint32_t *y, const bm_band_plan *plan)
{
    for (uint32_t band = 0; band < plan->bands; band++) {
        uint32_t row = 0;
        while (row < plan->rows && x[band * plan->rows + row] == y[band * plan->rows + row])
            row++;
        if (row == plan->rows)
            return true;
    }
    return false;
}

/* Candidates of one run: the scalar reference signs, and each pair is looked at. */
static uint64_t count_by_pairs(const world *w, const bm_band_plan *plan, uint32_t seed)
{
    const bm_sketch_options sketch = {.perms = plan->bands * plan->rows, .seed = seed};
    static uint32_t words[DOCS][BM_PERMS_MAX];
    bm_scheme_params params;
    uint64_t n = 0;
    cr_assert_eq(bm_scheme_draw(&sketch, &params, NULL), BM_OK);
    for (size_t i = 0; i < DOCS; i++)
        bm_scheme_get(BM_SCHEME_AFFINE32)->sign(&params, w->sets[i], w->sizes[i], words[i]);
    for (size_t i = 0; i < DOCS; i++)
        for (size_t k = 0; k < i; k++)
            n += share_a_band(words[i], words[k], plan);
    bm_scheme_params_reset(&params);
    return n;
}

static int by_count(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static bm_trials try_out(const world *w, const bm_band_plan *plan, uint32_t threads)
{
    bm_pool *pool;
    bm_trials trials;
    cr_assert_eq(bm_pool_open(threads, &pool, NULL), BM_OK);
    cr_assert_eq(bm_trials_make(&(bm_trial_job){plan, 5, NULL},
                                &(bm_hash_sets){(const uint64_t **)w->sets, w->sizes, DOCS}, pool,
                                &trials, NULL),
                 BM_OK);
    bm_pool_close(pool);
    return trials;
}

Test(trial_runs, count_the_pairs_that_share_a_band_once_each)
{
    static world w;
    static const bm_band_plan plans[] = {{.bands = 1, .rows = 1},
                                         {.bands = 9, .rows = 2}, /* buckets of 50 and more */
                                         {.bands = 5, .rows = 4}};
    make_world(&w);
    for (size_t p = 0; p < sizeof plans / sizeof plans[0]; p++) {
        uint64_t right[BM_TRIALS];
        for (uint32_t i = 0; i < BM_TRIALS; i++)
            right[i] = count_by_pairs(&w, &plans[p], 5 + (i + 1) * UINT32_C(0x9E3779B9));
        qsort(right, BM_TRIALS, sizeof *right, by_count);
        for (uint32_t threads = 1; threads <= 3; threads += 2) {
            const bm_trials trials = try_out(&w, &plans[p], threads);
            cr_assert_eq(trials.n_docs, DOCS);
            for (uint32_t i = 0; i < BM_TRIALS; i++)
                cr_expect_eq(trials.counts[i], right[i], "plan %zu, place %u: %lu, not %lu", p, i,
                             (unsigned long)trials.counts[i], (unsigned long)right[i]);
        }
        cr_expect_lt(right[0], right[BM_TRIALS - 1], "all runs are alike, and say nothing");
    }
}

Test(trial_runs, of_more_words_than_a_signature_has_are_not_made)
{
    static world w;
    make_world(&w);
    const bm_band_plan plan = {.bands = 1025, .rows = 1};
    const bm_trials trials = try_out(&w, &plan, 1);
    double low, high;
    cr_expect_eq(trials.n_docs, 0);
    bm_trials_range(&trials, DOCS, 10, 1, &low, &high);
    cr_expect(isnan(low) && isnan(high));
}

Test(trial_runs, range_leaves_two_out_on_either_side)
{
    bm_trials trials = {.n_docs = 100};
    double low, high;
    for (uint32_t i = 0; i < BM_TRIALS; i++)
        trials.counts[i] = i + 1; /* 1 … 99, mean 50 */
    bm_trials_range(&trials, 100, 1234, 5, &low, &high);
    cr_expect(low == 3 && high == 97, "of all documents the counts themselves: %g, %g", low, high);
    bm_trials_range(&trials, 200, 1000, 0, &low, &high);
    cr_expect(fabs(low - 60) < 1e-9 && fabs(high - 1940) < 1e-9, "%g, %g", low, high);
    bm_trials_range(&trials, 200, 1000, 100, &low, &high);
    cr_expect(fabs(low - 60 * .8355146) < 1e-4 && fabs(high - 1940 * 1.1644854) < 1e-3, "%g, %g",
              low, high);
    bm_trials_range(&trials, 200, 100, 100, &low, &high);
    cr_expect_eq(low, 0);
}
