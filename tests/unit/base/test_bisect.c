/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "base/bisect.h"

/* The model is a linear search from the start. */
Test(bisect, it_ends_at_the_first_that_is_not_below_the_key)
{
    for (size_t n = 0; n < 20; n++)
        for (size_t key = 0; key <= 2 * n + 1; key++) {
            size_t expected = 0, steps = 0;
            while (expected < n && 2 * expected < key)
                expected++;
            bm_bisect b = {0, n};
            while (b.low < b.high) {
                cr_assert_lt(bm_middle(&b), n);
                bm_bisect_go(&b, 2 * bm_middle(&b) < key);
                steps++;
            }
            cr_assert_eq(b.low, expected);
            cr_assert_leq(steps, 5, "log2 of 20");
        }
}
