/* test_bridges.c -- bridges and articulation points against taking away each pair, and each
 * document, in turn. */
#include <stdlib.h>

#include "graph_model.h"
#include "lsh/link_graph.h"

static void check_bridges(const graph_model *m, const bm_bridges *found)
{
    size_t at = 0;
    for (size_t i = 0; i < m->n_pairs; i++) {
        bool with_a[MODEL_DOCS] = {false}, with_b[MODEL_DOCS] = {false};
        size_t n_a = model_flood(m, m->pairs[i].a, i, UINT32_MAX, with_a);
        if (with_a[m->pairs[i].b])
            continue;
        size_t n_b = model_flood(m, m->pairs[i].b, i, UINT32_MAX, with_b);
        cr_assert_lt(at, found->n_bridges);
        cr_assert_eq(found->bridges[at].pair, i);
        cr_assert_eq(found->bridges[at].n_a, n_a);
        cr_assert_eq(found->bridges[at].n_b, n_b);
        at++;
    }
    cr_assert_eq(at, found->n_bridges);
}

static void check_articulation_points(const graph_model *m, const bm_bridges *found)
{
    size_t at = 0;
    for (uint32_t doc = 0; doc < m->n_docs; doc++) {
        bool component[MODEL_DOCS] = {false};
        model_flood(m, doc, SIZE_MAX, UINT32_MAX, component);
        uint32_t parts = model_parts(m, component, doc);
        if (parts < 2)
            continue;
        cr_assert_lt(at, found->n_articulation_points);
        cr_assert_eq(found->articulation_points[at].doc, doc);
        cr_assert_eq(found->articulation_points[at].n_parts, parts);
        at++;
    }
    cr_assert_eq(at, found->n_articulation_points);
}

Test(bridges, are_what_parts_the_graph_when_it_is_taken_away)
{
    graph_model m = {.state = 19};
    for (int round = 0; round < 1500; round++) {
        bm_link_graph g;
        bm_bridges found;
        uint32_t n = 1 + model_draw(&m, 20);
        model_make(&m, n, n == 1 ? 0 : model_draw(&m, 2 * n), round % 3 == 0);
        model_open(&m, &g);
        cr_assert_eq(bm_bridges_find(&g, &found, NULL), BM_OK);
        check_bridges(&m, &found);
        check_articulation_points(&m, &found);
        bm_bridges_reset(&found);
        bm_link_graph_reset(&g);
    }
}

Test(bridges, of_a_tree_are_all_its_links_and_hinges_all_that_are_no_leaf)
{
    graph_model m = {.state = 23, .n_docs = MODEL_DOCS};
    for (int round = 0; round < 50; round++) {
        uint32_t degree[MODEL_DOCS] = {0}, inner = 0;
        m.n_pairs = 0;
        for (uint32_t doc = 1; doc < m.n_docs; doc++) {
            uint32_t above = model_draw(&m, doc);
            m.pairs[m.n_pairs++] = (bm_pair){above, doc, .9};
            degree[doc]++;
            degree[above]++;
        }
        for (uint32_t doc = 0; doc < m.n_docs; doc++)
            inner += degree[doc] > 1;
        bm_link_graph g;
        bm_bridges found;
        model_open(&m, &g);
        cr_assert_eq(bm_bridges_find(&g, &found, NULL), BM_OK);
        cr_assert_eq(found.n_bridges, m.n_pairs);
        cr_assert_eq(found.n_articulation_points, inner);
        for (size_t i = 0; i < found.n_articulation_points; i++)
            cr_assert_eq(found.articulation_points[i].n_parts,
                         degree[found.articulation_points[i].doc]);
        bm_bridges_reset(&found);
        bm_link_graph_reset(&g);
    }
}

Test(bridges, a_chain_of_a_million_links_is_walked_without_recursion)
{
    enum { LONG = 1000000 };
    bm_pair *pairs = malloc(LONG * sizeof *pairs);
    for (uint32_t i = 0; i < LONG; i++)
        pairs[i] = (bm_pair){i, i + 1, .9};
    bm_link_graph g;
    bm_bridges found;
    cr_assert_eq(bm_link_graph_init(&g, pairs, LONG, LONG + 1, NULL), BM_OK);
    cr_assert_eq(bm_bridges_find(&g, &found, NULL), BM_OK);
    cr_expect_eq(found.n_bridges, LONG);
    cr_expect_eq(found.n_articulation_points, LONG - 1);
    cr_expect_eq(found.bridges[10].n_a, 11);
    cr_expect_eq(found.bridges[10].n_b, LONG - 10);
    bm_bridges_reset(&found);
    bm_link_graph_reset(&g);
    free(pairs);
}

Test(bridges, there_are_none_without_pairs)
{
    bm_link_graph g;
    bm_bridges found;
    cr_assert_eq(bm_link_graph_init(&g, NULL, 0, 4, NULL), BM_OK);
    cr_assert_eq(bm_bridges_find(&g, &found, NULL), BM_OK);
    cr_expect_eq(found.n_bridges + found.n_articulation_points, 0);
    bm_bridges_reset(&found);
    bm_link_graph_reset(&g);
}
