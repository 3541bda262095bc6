/* SPDX-License-Identifier: Apache-2.0 */
/* test_census_parts.c -- static functions of src/tune/pair_census.c. */
#include "tune/pair_census.c"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "sketch/scheme.h"

/* === total ===
 *
 * The estimator against theorems: over all samples of a small corpus, the mean of the estimates is
 * the total, and the mean of the stated squared errors is their variance. On larger clustered
 * corpora: how often the total is within three stated errors of a random sample's estimate. */

enum { SMALL = 9 };

static int bits_of(unsigned mask)
{
    return __builtin_popcount(mask);
}

Test(pair_total, is_unbiased_with_an_unbiased_variance_over_every_sample)
{
    /* f of each pair, by hand: a cluster of three, pairs, and documents with little or nothing in
     * common */
    double f[SMALL][SMALL] = {{0}}, y[SMALL] = {0}, truth = 0;
    f[0][1] = 1, f[0][2] = .75, f[1][2] = .5, f[3][4] = 1, f[5][6] = .125, f[0][8] = .0625;
    for (int i = 0; i < SMALL; i++)
        for (int j = i + 1; j < SMALL; j++) {
            truth += f[i][j];
            y[i] += f[i][j] / 2;
            y[j] += f[i][j] / 2;
        }
    for (int n = 2; n <= SMALL; n++) {
        double samples = 0, mean = 0, square = 0, stated = 0;
        for (unsigned mask = 0; mask < 1u << SMALL; mask++) {
            double drawn[SMALL];
            size_t k = 0;
            if (bits_of(mask) != n)
                continue;
            for (int i = 0; i < SMALL; i++)
                if (mask >> i & 1)
                    drawn[k++] = y[i];
            const bm_total t = pair_total(drawn, k, SMALL);
            samples++;
            mean += t.value;
            square += (t.value - truth) * (t.value - truth);
            stated += t.error * t.error;
        }
        cr_expect(fabs(mean / samples - truth) < 1e-12, "n %d", n);
        cr_expect(fabs(square / samples - stated / samples) < 1e-12, "n %d: %g, stated %g", n,
                  square / samples, stated / samples);
    }
}

Test(pair_total, of_all_documents_is_exact)
{
    const double y[] = {.5, .5, 0};
    const bm_total t = pair_total(y, 3, 3), rare = pair_total_rare(y, 3, 3, 1);
    cr_expect(t.value == 1 && t.error == 0);
    cr_expect(rare.value == 1 && rare.error == 0);
    const bm_total none = pair_total(y, 0, 0);
    cr_expect(none.value == 0 && none.error == 0);
    cr_expect(isinf(pair_total(y, 1, 3).error));
}

Test(pair_total, nothing_seen_is_not_certain)
{
    const double y[100] = {0};
    const bm_total t = pair_total_rare(y, 100, 10000, 1);
    cr_expect_eq(t.value, 0);
    /* states the error of one pair seen once, which stands for D / 2n pairs */
    cr_expect(fabs(t.error - 50 * sqrt(1 - .01)) < 1e-9);
    cr_expect(fabs(pair_total_rare(y, 100, 10000, .05).error - t.error * .05) < 1e-9);
}

/* Clusters of 2 to 9 near-copies among documents that resemble no other. */
Test(pair_total, the_total_is_within_three_errors_as_often_as_it_should_be)
{
    enum { DOCS = 20000, SAMPLE = 1000, DRAWS = 400 };
    double *y = calloc(DOCS, sizeof *y), drawn[SAMPLE], truth = 0, outside = 0, errors = 0;
    uint32_t *order = calloc(DOCS, sizeof *order);
    bm_random random;
    bm_random_init(&random, 7);
    for (int at = 0; at < 6000;) {
        const int size = (int)bm_random_range(&random, 2, 10);
        for (int i = 0; i < size; i++)
            y[at++] = (size - 1) / 2.0;
        truth += size * (size - 1) / 2.0;
    }
    for (uint32_t i = 0; i < DOCS; i++)
        order[i] = i;
    double square = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        for (uint32_t i = 0; i < SAMPLE; i++) {
            const uint32_t k = (uint32_t)bm_random_range(&random, i, DOCS), was = order[i];
            order[i] = order[k];
            order[k] = was;
            drawn[i] = y[order[i]];
        }
        const bm_total t = pair_total_rare(drawn, SAMPLE, DOCS, 1);
        outside += fabs(t.value - truth) > 3 * t.error;
        errors += t.error * t.error / DRAWS;
        square += (t.value - truth) * (t.value - truth) / DRAWS;
    }
    /* A normal distribution has 0.27 % outside, one of 400; more than 6 has a probability below
     * .001. */
    cr_expect_leq(outside, 6);
    /* chi-squared with 400 degrees of freedom: 3 standard deviations are 21 % */
    cr_expect(fabs(square / errors - 1) < .21, "%g, stated %g", square, errors);
    free(y);
    free(order);
}

/* === runs ===
 *
 * The candidates of trial runs, compared with pairs counted one by one; and ranges computed by
 * hand. */

enum { DOCS = 150, MOST = 12 };

typedef struct world {
    uint64_t hashes[DOCS][MOST];
    const uint64_t *sets[DOCS];
    uint32_t sizes[DOCS];
} world;

/* Documents of a few words out of few, so that many share bands; a third share one particular word.
 */
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

/* The candidates of one run: signs with the scalar reference and compares each pair. */
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
    cr_assert_eq(trials_make(&(bm_trial_job){plan, 5, NULL},
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
    trials_range(&trials, DOCS, 10, 1, &low, &high);
    cr_expect(isnan(low) && isnan(high));
}

Test(trial_runs, range_leaves_two_out_on_either_side)
{
    bm_trials trials = {.n_docs = 100};
    double low, high;
    for (uint32_t i = 0; i < BM_TRIALS; i++)
        trials.counts[i] = i + 1; /* 1 … 99, mean 50 */
    trials_range(&trials, 100, 1234, 5, &low, &high);
    cr_expect(low == 3 && high == 97, "of all documents the counts themselves: %g, %g", low, high);
    trials_range(&trials, 200, 1000, 0, &low, &high);
    cr_expect(fabs(low - 60) < 1e-9 && fabs(high - 1940) < 1e-9, "%g, %g", low, high);
    trials_range(&trials, 200, 1000, 100, &low, &high);
    cr_expect(fabs(low - 60 * .8355146) < 1e-4 && fabs(high - 1940 * 1.1644854) < 1e-3, "%g, %g",
              low, high);
    trials_range(&trials, 200, 100, 100, &low, &high);
    cr_expect_eq(low, 0);
}
