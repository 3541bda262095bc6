/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <bandmill/option_names.h>

#include "sketch/scheme.h"

Test(scheme, schemes_are_found_by_their_names_only)
{
    cr_expect_eq(bm_scheme_find("affine32"), &bm_scheme_affine32);
    cr_expect_str_eq(bm_option_name(BM_OPTION_SCHEME, bm_scheme_affine32.scheme), "affine32");
    cr_expect_null(bm_scheme_find("affine"));
    cr_expect_null(bm_scheme_find("affine322"));
    cr_expect_null(bm_scheme_find(""));
}

Test(scheme, rows_are_walked_in_the_order_of_the_table_and_each_is_found_by_name_and_value)
{
    size_t n = 0;
    for (const bm_scheme_ops *ops; (ops = bm_scheme_at(n)) != NULL; n++) {
        const char *name = bm_option_name(BM_OPTION_SCHEME, ops->scheme);
        cr_assert_not_null(name);
        cr_expect_eq(bm_scheme_find(name), ops);
        cr_expect_eq(bm_scheme_get(ops->scheme), ops);
        cr_expect_gt(ops->test_perms[0], 0, "%s has numbers of words to test", name);
    }
    cr_expect_eq(bm_scheme_at(0), &bm_scheme_affine32);
    cr_expect_eq(n, 9);
    cr_expect_null(bm_scheme_get((bm_scheme)4000));
}
