/* SPDX-License-Identifier: Apache-2.0 */
/* Only properties that need no second logarithm; tests/reference/test_cws.py compares
 * bm_portable_log with logarithms of 50 digits. */
#include <criterion/criterion.h>

#include <math.h>

#include "base/portable_log.h"

Test(portable_log, ln_1_is_0_and_powers_of_two_are_multiples_of_ln_2)
{
    cr_expect_eq(bm_portable_log(1.0), 0.0);
    for (int k = -1074; k <= 1023; k++) {
        const double expected = (double)k * 0x1.62e42fefa39efp-1;
        cr_expect_leq(fabs(bm_portable_log(ldexp(1.0, k)) - expected), fabs(expected) * 0x1p-51,
                      "2^%d", k);
    }
}

Test(portable_log, only_finite_numbers_above_0_are_weights)
{
    const double good[] = {0x1p-1074, DBL_MIN, 1e-300, 1.0, 1e300, DBL_MAX};
    const double bad[] = {0.0, -0.0, -0x1p-1074, -1.0, INFINITY, -INFINITY, NAN, -NAN};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        cr_expect(bm_is_positive_finite(good[i]), "%g", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not(bm_is_positive_finite(bad[i]), "%g", bad[i]);
}
