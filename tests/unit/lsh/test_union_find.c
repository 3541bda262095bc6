/* SPDX-License-Identifier: Apache-2.0 */
/* test_union_find.c -- union-find, compared with components found by flood fill in an adjacency
 * matrix. */
#include <criterion/criterion.h>

#include <string.h>

#include "lsh/groups.h"

#include "tests/world/world_random.h"

enum { N = 60 };

static void flood(bool joined[N][N], uint32_t doc, uint32_t label, uint32_t labels[N])
{
    labels[doc] = label;
    for (uint32_t other = 0; other < N; other++)
        if (joined[doc][other] && labels[other] == UINT32_MAX)
            flood(joined, other, label, labels);
}

Test(union_find, roots_are_the_smallest_of_each_component_whatever_the_order)
{
    for (uint64_t seed = 1; seed < 300; seed++) {
        world_state = seed;
        bool joined[N][N] = {{false}};
        bm_union_find sets;
        cr_assert_eq(bm_union_find_init(&sets, N, NULL), BM_OK);
        uint32_t links = world_pick(70), n_groups = N, labels[N];
        for (uint32_t i = 0; i < links; i++) {
            uint32_t a = world_pick(N), b = world_pick(N);
            memset(labels, 0xFF, sizeof labels);
            flood(joined, a, a, labels);
            bool apart = labels[b] == UINT32_MAX;
            joined[a][b] = joined[b][a] = true;
            cr_assert_eq(bm_union_find_link(&sets, a, b), apart);
            n_groups -= apart;
        }
        memset(labels, 0xFF, sizeof labels);
        uint32_t groups = 0;
        for (uint32_t doc = 0; doc < N; doc++) {
            if (labels[doc] != UINT32_MAX)
                continue;
            groups++;
            flood(joined, doc, doc, labels);
        }
        cr_assert_eq(groups, n_groups);
        for (uint32_t doc = 0; doc < N; doc++)
            cr_assert_eq(bm_union_find_root(&sets, doc), labels[doc]);
        bm_union_find_reset(&sets);
    }
}

Test(union_find, a_chain_of_a_million_links_ends_at_its_smallest)
{
    enum { LONG = 1000001 };
    for (int way = 0; way < 2; way++) {
        bm_union_find sets;
        cr_assert_eq(bm_union_find_init(&sets, LONG, NULL), BM_OK);
        for (uint32_t i = 1; i < LONG; i++) {
            uint32_t at = way == 0 ? i : LONG - i;
            cr_assert(bm_union_find_link(&sets, at, at - 1));
        }
        cr_assert_eq(bm_union_find_root(&sets, LONG - 1), 0);
        cr_assert(!bm_union_find_link(&sets, LONG / 2, LONG - 1));
        bm_union_find_reset(&sets);
    }
}

Test(union_find, too_many_documents_are_a_usage_error)
{
    bm_union_find sets;
    cr_assert_eq(bm_union_find_init(&sets, (size_t)BM_DOCS_MAX + 1, NULL), BM_ERR_USAGE);
}
