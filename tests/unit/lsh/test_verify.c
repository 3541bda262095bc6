/* SPDX-License-Identifier: Apache-2.0 */
/* test_verify.c -- similarity at a threshold: the bound, compared with plain division, for every
 * size and for thresholds at and next to every fraction. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>

#include "lsh/verify.h"

static double ratio(size_t common, size_t n_x, size_t n_y)
{
    return (double)common / (double)(n_x + n_y - common);
}

/* x is 0 to n_x-1; y has `common` of these, spread out, and its other values above them. */
static void make_sets(uint64_t *x, size_t n_x, uint64_t *y, size_t n_y, size_t common)
{
    for (size_t i = 0; i < n_x; i++)
        x[i] = 10 * i;
    for (size_t i = 0; i < common; i++)
        y[i] = x[i * n_x / common];
    for (size_t i = common; i < n_y; i++)
        y[i] = 10 * (i - common) + 5;
    uint64_t scratch[64];
    bm_hashes_sort(y, n_y, scratch);
}

Test(verify, jaccard_is_the_quotient_in_double_and_0_for_two_empty_sets)
{
    cr_assert_eq(bm_jaccard(0, 0, 0), 0.0);
    cr_assert_eq(bm_jaccard(0, 5, 0), 0.0);
    cr_assert_eq(bm_jaccard(5, 5, 5), 1.0);
    cr_assert_eq(bm_jaccard(1, 2, 2), 1.0 / 3.0);
    cr_assert_eq(bm_jaccard(4, 5, 5), 4.0 / 6.0);
}

Test(verify, least_common_is_the_first_number_whose_quotient_reaches_the_threshold)
{
    for (size_t n_x = 1; n_x <= 24; n_x++) {
        for (size_t n_y = 1; n_y <= 24; n_y++) {
            size_t most = n_x < n_y ? n_x : n_y;
            for (size_t num = 1; num <= 20; num++) {
                for (size_t den = num; den <= 20; den++) {
                    double at = (double)num / (double)den;
                    double around[] = {at, nextafter(at, 0), nextafter(at, 2)};
                    for (int i = 0; i < 3; i++) {
                        size_t wanted = 0;
                        while (wanted <= most && !(ratio(wanted, n_x, n_y) >= around[i]))
                            wanted++;
                        if (wanted > most)
                            wanted = SIZE_MAX;
                        cr_assert_eq(bm_jaccard_least_common(n_x, n_y, around[i]), wanted);
                    }
                }
            }
        }
    }
}

Test(verify, the_common_hashes_come_back_from_their_similarity)
{
    for (size_t n_x = 1; n_x <= 60; n_x++)
        for (size_t n_y = 1; n_y <= 60; n_y++)
            for (size_t common = 0; common <= n_x && common <= n_y; common++)
                cr_assert_eq(bm_jaccard_common(ratio(common, n_x, n_y), n_x, n_y), common);
    for (size_t n_x = UINT32_MAX; n_x > UINT32_MAX - 2000; n_x -= 97)
        for (size_t n_y = UINT32_MAX; n_y > 1; n_y = n_y / 3 * 2)
            for (size_t common = n_y, step = 1; common < SIZE_MAX / 2; common -= step, step *= 3)
                cr_assert_eq(bm_jaccard_common(ratio(common, n_x, n_y), n_x, n_y), common);
}

Test(verify, least_common_holds_for_sizes_in_the_millions)
{
    for (size_t n = 1000003; n < 1000103; n += 7) {
        for (size_t common = n - 1000; common < n; common += 37) {
            double at = ratio(common, n, n + 11);
            cr_assert_eq(bm_jaccard_least_common(n, n + 11, at), common);
            cr_assert_eq(bm_jaccard_least_common(n, n + 11, nextafter(at, 2)), common + 1);
        }
    }
}

Test(verify, at_least_loses_no_pair_on_the_threshold_and_lets_none_below_it_through)
{
    uint64_t x[24], y[24];
    for (size_t n_x = 0; n_x <= 24; n_x++) {
        for (size_t n_y = 0; n_y <= 24; n_y++) {
            size_t most = n_x < n_y ? n_x : n_y;
            for (size_t common = 0; common <= most; common++) {
                make_sets(x, n_x, y, n_y, common);
                cr_assert_eq(bm_hashes_common(x, n_x, y, n_y), common);
                double s = n_x + n_y == 0 ? 0 : ratio(common, n_x, n_y);
                cr_assert_eq(bm_similarity_at_least(BM_MEASURE_JACCARD, x, n_x, y, n_y, s), s);
                cr_assert_eq(bm_similarity_at_least(BM_MEASURE_JACCARD, x, n_x, y, n_y, 0), s);
                cr_assert_eq(
                    bm_similarity_at_least(BM_MEASURE_JACCARD, x, n_x, y, n_y, nextafter(s, -1)),
                    s);
                cr_assert_lt(
                    bm_similarity_at_least(BM_MEASURE_JACCARD, x, n_x, y, n_y, nextafter(s, 2)), 0);
                for (int t = 1; t <= 10; t++) {
                    double got =
                        bm_similarity_at_least(BM_MEASURE_JACCARD, x, n_x, y, n_y, t / 10.0);
                    cr_assert(s >= t / 10.0 ? got == s : got < 0);
                }
            }
        }
    }
}

Test(verify, a_threshold_above_1_or_none_at_all_is_never_reached)
{
    uint64_t x[] = {1, 2, 3};
    cr_assert_lt(bm_similarity_at_least(BM_MEASURE_JACCARD, x, 3, x, 3, 1.5), 0);
    cr_assert_lt(bm_similarity_at_least(BM_MEASURE_JACCARD, x, 3, x, 3, (double)NAN), 0);
}
