/* SPDX-License-Identifier: Apache-2.0 */
/* test_known.c -- links to known documents: so many that they are sorted in parts.
 * tests/reference/test_against.py compares the groups that they make with a model. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "match/match.h"

Test(known, ids_are_found_and_links_that_repeat_join_their_documents)
{
    bm_known known;
    char id[32];
    const uint32_t n = 300000; /* more than are sorted in one part */
    cr_assert_eq(bm_known_init(&known, n, NULL), BM_OK);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(bm_known_add(&known, (bm_known_link){(i * 7u) % 1000u * 3u, i}, .9, NULL),
                     BM_OK);
    cr_assert_eq(bm_known_end(&known, NULL), BM_OK);
    cr_assert_eq(known.n_links, 1000);
    cr_assert_lt(known.cap, n);
    for (size_t i = 0; i < 1000; i++) {
        cr_assert_eq(known.links[i].number, i * 3);
        const int len = snprintf(id, sizeof id, "%zu", i);
        cr_assert_eq(bm_known_add_id(&known, i, (bm_str){id, (size_t)len}, 1, NULL), BM_OK);
    }
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(bm_union_find_root(&known.joined, i), i % 1000);
    const bm_str found = bm_known_id(&known, 2997);
    cr_assert(found.len == 3 && memcmp(found.data, "999", 3) == 0);
    bm_known_reset(&known);
}
