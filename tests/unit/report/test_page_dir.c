/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page_dir.c"

#include <criterion/criterion.h>
#include <string.h>

#include "report/page.h"
#include "tests/world/world_text.h"

Test(page_dir, the_least_stay_and_of_equal_ones_the_first)
{
    static const double offered[] = {.9, .8, .85, .8, .95, .7, .8};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    bm_page_least least = {.most = 3};
    bm_page page = {0};
    for (size_t i = 0; i < 7; i++)
        cr_assert_eq(page_least_offer(&least,
                                      &(bm_page_offer){world_str(names[i]), world_str("other"),
                                                       offered[i], offered[i], false},
                                      NULL),
                     BM_OK);
    cr_assert_eq(page_least_show(&least, &page, &page.near, NULL), BM_OK);
    cr_assert_eq(page.near.n, 3u);
    cr_expect_eq(page.near.of, 7u);
    static const char *const wanted[] = {"f", "b", "d"};
    for (size_t i = 0; i < 3; i++) {
        const bm_str id = bm_id_set_id(&page.ids, page.near.rows[i].a);
        cr_expect(id.len == 1 && id.data[0] == wanted[i][0]);
        /* all rows name the same document */
        cr_expect_eq(page.near.rows[i].b, page.near.rows[0].b);
    }
    page_least_reset(&least);
    cr_expect_eq(least.n, 0u);
    bm_page_reset(&page);
}

Test(page_dir, none_is_none)
{
    bm_page_least least = {.most = 0};
    bm_page page = {0};
    cr_expect_eq(page_least_offer(
                     &least, &(bm_page_offer){world_str("a"), world_str("b"), .5, .5, false}, NULL),
                 BM_OK);
    cr_expect_eq(least.n, 0u);
    cr_expect_eq(least.of, 1u);
    cr_expect_eq(page_least_show(&least, &page, &page.near, NULL), BM_OK);
    cr_expect_eq(page.near.n, 0u);
    bm_page_reset(&page);
}
