/* test_link_graph.c -- adjacency against a plain list of pairs. */
#include "graph_model.h"

Test(link_graph, neighbours_are_those_of_the_pairs_in_ascending_order)
{
    graph_model m = {.state = 7};
    for (int round = 0; round < 400; round++) {
        bm_link_graph g;
        const uint32_t n_docs = 2 + model_draw(&m, MODEL_DOCS - 1);
        model_make(&m, n_docs, model_draw(&m, 120), round % 2 == 0);
        model_open(&m, &g);
        cr_assert_eq(g.begins[0], 0);
        cr_assert_eq(g.begins[m.n_docs], 2 * m.n_pairs);
        for (uint32_t doc = 0; doc < m.n_docs; doc++) {
            size_t degree = 0;
            for (size_t i = 0; i < m.n_pairs; i++)
                degree += m.pairs[i].a == doc || m.pairs[i].b == doc;
            cr_assert_eq(g.begins[doc + 1] - g.begins[doc], degree);
            for (size_t i = g.begins[doc]; i < g.begins[doc + 1]; i++) {
                const bm_link *link = &g.links[i];
                const bm_pair *pair = &m.pairs[link->pair];
                cr_assert((pair->a == doc && pair->b == link->doc) ||
                          (pair->b == doc && pair->a == link->doc));
                if (i > g.begins[doc])
                    cr_assert(link[-1].doc < link->doc ||
                              (link[-1].doc == link->doc && link[-1].pair < link->pair));
            }
        }
        bm_link_graph_reset(&g);
    }
}

Test(link_graph, the_pair_of_two_documents_is_the_first_there_is)
{
    graph_model m = {.state = 11};
    for (int round = 0; round < 100; round++) {
        bm_link_graph g;
        model_make(&m, 12, model_draw(&m, 60), true);
        model_open(&m, &g);
        for (uint32_t a = 0; a < m.n_docs; a++)
            for (uint32_t b = 0; b < m.n_docs; b++) {
                size_t first = SIZE_MAX;
                for (size_t i = m.n_pairs; i-- > 0;)
                    if ((m.pairs[i].a == a && m.pairs[i].b == b) ||
                        (m.pairs[i].a == b && m.pairs[i].b == a))
                        first = i;
                cr_assert_eq(bm_link_graph_find(&g, a, b), first);
            }
        bm_link_graph_reset(&g);
    }
}

Test(link_graph, pairs_that_are_none_are_refused)
{
    const bm_pair same = {1, 1, .9}, far_a = {5, 0, .9}, far_b = {0, 5, .9};
    bm_link_graph g;
    bm_error err = {0};
    cr_expect_eq(bm_link_graph_init(&g, &same, 1, 5, &err), BM_ERR_INPUT);
    cr_expect_not_null(strstr(err.message, "1 and 1"), "%s", err.message);
    cr_expect_eq(bm_link_graph_init(&g, &far_a, 1, 5, NULL), BM_ERR_INPUT);
    cr_expect_eq(bm_link_graph_init(&g, &far_b, 1, 5, NULL), BM_ERR_INPUT);
    cr_expect_eq(bm_link_graph_init(&g, NULL, 0, (size_t)BM_DOCS_MAX + 1, NULL), BM_ERR_USAGE);
}

Test(link_graph, a_graph_without_documents_or_pairs_is_one)
{
    bm_link_graph g;
    cr_assert_eq(bm_link_graph_init(&g, NULL, 0, 0, NULL), BM_OK);
    bm_link_graph_reset(&g);
    cr_assert_eq(bm_link_graph_init(&g, NULL, 0, 3, NULL), BM_OK);
    cr_assert_eq(bm_link_graph_find(&g, 0, 2), SIZE_MAX);
    bm_link_graph_reset(&g);
}
