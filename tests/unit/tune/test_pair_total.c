/* SPDX-License-Identifier: Apache-2.0 */
/* test_pair_total.c -- the estimator against theorems: over every sample of a small corpus the mean
 * of the estimates is the total and the mean of the squared errors stated is their variance; and by
 * drawing, on corpora with clusters, how often the total is within three errors. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "tune/pair_census.h"

enum { SMALL = 9 };

static int bits_of(unsigned mask)
{
    return __builtin_popcount(mask);
}

Test(pair_total, is_unbiased_with_an_unbiased_variance_over_every_sample)
{
    /* f of each pair, by hand: a cluster of three, a pair, the rest alone */
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
            const bm_total t = bm_pair_total(drawn, k, SMALL);
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
    const bm_total t = bm_pair_total(y, 3, 3), rare = bm_pair_total_rare(y, 3, 3, 1);
    cr_expect(t.value == 1 && t.error == 0);
    cr_expect(rare.value == 1 && rare.error == 0);
    const bm_total none = bm_pair_total(y, 0, 0);
    cr_expect(none.value == 0 && none.error == 0);
    cr_expect(isinf(bm_pair_total(y, 1, 3).error));
}

Test(pair_total, nothing_seen_is_not_certain)
{
    const double y[100] = {0};
    const bm_total t = bm_pair_total_rare(y, 100, 10000, 1);
    cr_expect_eq(t.value, 0);
    /* one pair seen once stands for D / 2n */
    cr_expect(fabs(t.error - 50 * sqrt(1 - .01)) < 1e-9);
    cr_expect(fabs(bm_pair_total_rare(y, 100, 10000, .05).error - t.error * .05) < 1e-9);
}

/* Clusters of 2 to 9 near-copies among documents that are like no other. */
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
        const bm_total t = bm_pair_total_rare(drawn, SAMPLE, DOCS, 1);
        outside += fabs(t.value - truth) > 3 * t.error;
        errors += t.error * t.error / DRAWS;
        square += (t.value - truth) * (t.value - truth) / DRAWS;
    }
    /* 0.27 % for a normal distribution: one of 400; more than 6 has a probability below .001 */
    cr_expect_leq(outside, 6);
    /* a chi-squared of 400 degrees: 3 standard deviations are 21 % */
    cr_expect(fabs(square / errors - 1) < .21, "%g, stated %g", square, errors);
    free(y);
    free(order);
}
