/* SPDX-License-Identifier: Apache-2.0 */
/* test_link_copies.c -- copies merged into one node, with documents counted in bridges and cuts;
 * and the threshold at which two documents part. tests/reference/test_groups.py compares real
 * groups. */
#include <criterion/criterion.h>
#include <math.h>

#include "lsh/link_copies.h"

/* Copies: 0, 2 and 4; 1 and 5. Document 3 has links to two of the copies 0, 2 and 4. */
Test(link_copies, copies_are_one_node_for_which_a_preferred_document_stands)
{
    bm_pair pairs[] = {{0, 1, .8}, {0, 4, 1},  {1, 5, 1},  {2, 3, .7},
                       {2, 4, 1},  {3, 4, .9}, {5, 6, NAN}};
    static const uint32_t preferred[] = {9, 4, 0}, nodes[] = {4, 1, 4, 3, 4, 1, 6};
    static const uint32_t weights[] = {0, 2, 0, 1, 3, 0, 1};
    static const bm_pair merged[] = {{1, 4, .8}, {1, 6, NAN}, {3, 4, .9}};
    const bm_pair_list list = {pairs, 7, 7};
    bm_copies copies = {0};
    bm_link_graph g;
    bm_bridges found;
    bm_cut cut;
    cr_assert_eq(bm_copies_find(list, preferred, 3, &copies, NULL), BM_OK);
    cr_expect_eq(copies.n_nodes, 4);
    cr_expect_arr_eq(copies.nodes, nodes, sizeof nodes);
    cr_expect_arr_eq(copies.n, weights, sizeof weights);
    cr_assert_eq(bm_copies_merge(&copies, pairs, 7), 3);
    for (size_t i = 0; i < 3; i++) {
        cr_expect(pairs[i].a == merged[i].a && pairs[i].b == merged[i].b, "pair %zu", i);
        cr_expect(i == 1 ? isnan(pairs[i].similarity)
                         : pairs[i].similarity == merged[i].similarity);
    }
    cr_assert_eq(bm_link_graph_init(&g, pairs, 3, 7, NULL), BM_OK);
    g.weights = copies.n;
    cr_assert_eq(bm_bridges_find(&g, &found, NULL), BM_OK);
    cr_expect_eq(found.n_bridges, 3);
    cr_expect(found.bridges[0].n_a == 3 && found.bridges[0].n_b == 4); /* 1 5 6 | 0 2 3 4 */
    cr_assert_eq(bm_min_cut(&g, 3, 6, &cut, NULL), BM_OK);
    cr_expect_eq(cut.n_near, 1);
    bm_cut_reset(&cut);
    cr_assert_eq(bm_min_cut(&g, 4, 6, &cut, NULL), BM_OK);
    cr_expect_eq(cut.n_near, 4); /* 0 2 4, and 3, which is linked only to them */
    bm_cut_reset(&cut);
    bm_bridges_reset(&found);
    bm_link_graph_reset(&g);
    bm_copies_reset(&copies);
}

Test(link_copies, two_documents_part_above_the_weakest_link_of_the_strongest_chain)
{
    static const bm_pair pairs[] = {{0, 2, NAN}, {0, 1, .9}, {0, 3, .5},
                                    {1, 2, .7},  {2, 3, .8}, {4, 5, NAN}};
    bm_link_graph g;
    double above;
    cr_assert_eq(bm_link_graph_init(&g, pairs, 6, 6, NULL), BM_OK);
    cr_assert_eq(bm_parting_threshold(&g, 0, 3, &above, NULL), BM_OK);
    cr_expect_eq(above, .7);
    cr_assert_eq(bm_parting_threshold(&g, 2, 3, &above, NULL), BM_OK);
    cr_expect_eq(above, .8);
    cr_assert_eq(bm_parting_threshold(&g, 4, 5, &above, NULL), BM_OK);
    cr_expect(isnan(above));
    cr_assert_eq(bm_parting_threshold(&g, 0, 5, &above, NULL), BM_OK);
    cr_expect(isnan(above));
    bm_link_graph_reset(&g);
}
