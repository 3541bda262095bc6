/* SPDX-License-Identifier: Apache-2.0 */
/* test_containment.c -- shares, compared with integer fractions. */
#include <criterion/criterion.h>
#include <math.h>

#include "lsh/verify.h"

static bm_share share_of(double value)
{
    bm_share share = {0};
    cr_assert(bm_share_of(value, &share), "%g", value);
    return share;
}

Test(containment, a_share_is_the_decimal_that_was_written)
{
    static const struct {
        double value;
        uint64_t above, below;
    } rows[] = {{1, 1, 1},
                {.9, 9, 10},
                {.5, 5, 10},
                {.1, 1, 10},
                {.75, 75, 100},
                {.001, 1, 1000},
                {.333333333333333, UINT64_C(333333333333333), UINT64_C(1000000000000000)}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bm_share share = share_of(rows[i].value);
        cr_expect_eq(share.above, rows[i].above, "%g", rows[i].value);
        cr_expect_eq(share.below, rows[i].below, "%g", rows[i].value);
    }
}

Test(containment, what_is_no_share_is_refused)
{
    static const double others[] = {0, -.5, 1.0000000001, 2, NAN, INFINITY, 1e-300, 1.0 / 3};
    bm_share share;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_expect_not(bm_share_of(others[i], &share), "%g", others[i]);
    cr_expect_not(bm_share_of(nextafter(.9, 1), &share));
}

Test(containment, enough_is_the_least_whole_number_that_reaches_the_share)
{
    for (uint32_t above = 1; above <= 1000; above++)
        for (uint32_t n = 1; n <= 300; n += above % 3 == 0 ? 1 : 7) {
            const uint32_t wanted = (above * n + 999) / 1000; /* the quotient, rounded up */
            cr_assert_eq(bm_share_least(share_of(above / 1000.0), n), wanted, "%u/1000 of %u",
                         above, n);
        }
    cr_expect_eq(bm_share_least(share_of(.9), 10), 9); /* the double .9 is slightly over 9/10 */
    cr_expect_eq(bm_share_least(share_of(1), UINT32_MAX), UINT32_MAX);
    cr_expect_eq(bm_share_least(share_of(.5), UINT32_MAX), UINT32_C(2147483648));
    cr_expect_eq(bm_share_least(share_of(1e-15), UINT32_MAX), 1);
}

Test(containment, two_sets_are_a_pair_where_the_smaller_is_held)
{
    uint64_t x[40], y[40];
    for (uint32_t n_x = 1; n_x <= 12; n_x++)
        for (uint32_t n_y = n_x; n_y <= 40; n_y += 3)
            for (uint32_t common = 0; common <= n_x; common++) {
                for (uint32_t i = 0; i < n_x; i++)
                    x[i] = i < common ? i : 1000 + i;
                for (uint32_t i = 0; i < n_y; i++)
                    y[i] = i;
                for (uint32_t tenths = 1; tenths <= 10; tenths++) {
                    const bm_share share = {tenths, 10};
                    const bool held = common * 10 >= tenths * n_x;
                    const double wanted = (double)common / (double)(n_x + n_y - common);
                    const double got = bm_jaccard_held(x, n_x, y, n_y, share),
                                 back = bm_jaccard_held(y, n_y, x, n_x, share);
                    cr_assert(held ? !(got < wanted) && !(got > wanted) : got < 0);
                    cr_assert(!(got < back) && !(got > back));
                }
            }
}
