/* SPDX-License-Identifier: Apache-2.0 */
/* Expected values: NumPy, RandomState(seed).randint(..., dtype=uint32 or uint64), and
 * published digests of datasketch coefficients. */
#include <criterion/criterion.h>

#include "base/random.h"
#include "tests/world/sha1_hex.h"

#define M61 ((UINT64_C(1) << 61) - 1)

Test(random, outputs_equal_numpys_for_several_seeds_and_across_a_renewal)
{
    static const struct {
        uint32_t seed, first[3], at_623[3], at_1999;
    } rows[] = {
        {0, {2357136044, 2546248239, 3071714933}, {3791854820, 341544762, 1076416385}, 3856691381},
        {1, {1791095845, 4282876139, 3093770124}, {2006116153, 1104314680, 939235918}, 138279050},
        {42, {1608637542, 3421126067, 4083286876}, {1077437785, 108880612, 791707097}, 2238969328},
        {777, {655685735, 2776480559, 1298611771}, {2163402335, 2141362483, 2109916884}, 635284622},
        {4294967295u,
         {419326371, 479346978, 3918654476},
         {1027084080, 3860652269, 657474326},
         1762272365}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        bm_random random;
        bm_random_init(&random, rows[row].seed);
        for (size_t i = 0; i < 2000; i++) {
            uint32_t value = bm_random_u32(&random);
            if (i < 3)
                cr_expect_eq(value, rows[row].first[i], "seed %u, output %zu", rows[row].seed, i);
            if (i >= 623 && i < 626)
                cr_expect_eq(value, rows[row].at_623[i - 623], "output %zu", i);
            if (i == 1999)
                cr_expect_eq(value, rows[row].at_1999);
        }
    }
}

Test(random, sixty_four_bits_are_two_outputs_with_the_first_one_high)
{
    bm_random random;
    bm_random_init(&random, 7);
    cr_expect_eq(bm_random_u64(&random), UINT64_C(1407639518939636932));
    cr_expect_eq(bm_random_u64(&random), UINT64_C(14386962423634995702));
}

Test(random, short_ranges_take_one_output_a_draw_and_long_ones_two)
{
    bm_random random;
    static const uint64_t below_1000[] = {38, 236, 909, 73, 768, 906};
    bm_random_init(&random, 1);
    for (size_t i = 0; i < 6; i++)
        cr_expect_eq(bm_random_range(&random, 1, 1000), below_1000[i]);
    bm_random_init(&random, 7); /* 2^32 values: the largest range that takes one output per value */
    cr_expect_eq(bm_random_range(&random, 5, 5 + (UINT64_C(1) << 32)), 327741620);
    cr_expect_eq(bm_random_range(&random, 5, 5 + (UINT64_C(1) << 32)), 976413897);
    bm_random_init(&random, 7);
    cr_expect_eq(bm_random_range(&random, 5, 6 + (UINT64_C(1) << 32)), 1322904766);
    cr_expect_eq(bm_random_range(&random, 5, 6 + (UINT64_C(1) << 32)), 1133316636);
}

Test(random, a_range_of_one_value_draws_nothing)
{
    bm_random random;
    bm_random_init(&random, 5);
    cr_expect_eq(bm_random_range(&random, 3, 4), 3);
    cr_expect_eq(bm_random_u32(&random), 953453411);
}

Test(random, the_coefficients_of_datasketchs_legacy_scheme_have_the_published_digests)
{
    static const struct {
        uint32_t seed;
        size_t k;
        const char *sha1;
    } rows[] = {{1, 128, "23bfa3d21b46ae7b550f79b7a164c2bc071b03ef"},
                {42, 256, "a2c6ec5472175236bfd10e3cdb5aea54f0b674f0"}};
    for (size_t row = 0; row < 2; row++) {
        uint64_t values[512];
        size_t k = rows[row].k;
        bm_random random;
        bm_random_init(&random, rows[row].seed);
        for (size_t i = 0; i < k; i++) { /* drawn alternately, stored as all a, then all b */
            values[i] = bm_random_range(&random, 1, M61);
            values[k + i] = bm_random_range(&random, 0, M61);
        }
        char hex[41];
        cr_expect_str_eq(sha1_hex(values, 2 * k * sizeof *values, hex), rows[row].sha1);
    }
}
