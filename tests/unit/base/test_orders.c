/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/orders.h"

#define ASCENDS(list, order)                                                                       \
    do {                                                                                           \
        for (size_t i = 0; i < sizeof list / sizeof *list; i++)                                    \
            for (size_t j = 0; j < sizeof list / sizeof *list; j++) {                              \
                const int got = order(&list[i], &list[j]);                                         \
                cr_expect_eq((got > 0) - (got < 0), (i > j) - (i < j), #order " %zu %zu", i, j);   \
            }                                                                                      \
    } while (0)

Test(orders, ascend_over_the_whole_range)
{
    const uint32_t u32[] = {0, 1, INT32_MAX, (uint32_t)INT32_MAX + 1, UINT32_MAX};
    const uint64_t u64[] = {0, 1, UINT32_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    const double real[] = {-1e300, -1, -1e-300, 0, 1e-300, .5, 1, 1e300};
    const char *const text[] = {"", "A", "a", "aa", "b", "\x7f", "\xc3\xa4"};
    ASCENDS(u32, bm_order_u32);
    ASCENDS(u64, bm_order_u64);
    ASCENDS(real, bm_order_double);
    ASCENDS(text, bm_order_text);
}
