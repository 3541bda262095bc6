/* SPDX-License-Identifier: Apache-2.0 */
/* test_link_graph.c -- adjacency, compared with a plain list of pairs; and long chains.
 * tests/reference/test_groups.py compares chains, cuts and bridges of other graphs with SciPy's. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lsh/link_graph.h"

#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

enum { MODEL_DOCS = 40, MODEL_PAIRS = 400 };

typedef struct graph_model {
    uint32_t n_docs;
    size_t n_pairs;
    bm_pair pairs[MODEL_PAIRS];
    uint64_t state;
} graph_model;

static uint32_t model_draw(graph_model *m, uint32_t below)
{
    return world_below(&m->state, below);
}

/* Makes `n_pairs` pairs of different documents; with `repeats`, a pair may come again, in either
 * order. There are few distinct similarities, so that ties occur; one in twenty is unknown. */
static void model_make(graph_model *m, uint32_t n_docs, size_t n_pairs, bool repeats)
{
    bool there[MODEL_DOCS][MODEL_DOCS] = {{false}};
    m->n_docs = n_docs;
    m->n_pairs = 0;
    for (size_t tries = 0; m->n_pairs < n_pairs && tries < 4 * n_pairs; tries++) {
        uint32_t a = model_draw(m, n_docs), b = model_draw(m, n_docs);
        if (a == b || (!repeats && (there[a][b] || there[b][a])))
            continue;
        there[a][b] = true;
        double similarity = model_draw(m, 20) == 0 ? NAN : .5 + model_draw(m, 4) / 8.0;
        m->pairs[m->n_pairs++] = (bm_pair){a, b, similarity};
    }
}

static void model_open(const graph_model *m, bm_link_graph *out)
{
    bm_error err = {0};
    world_ok(bm_link_graph_init(out, m->pairs, m->n_pairs, m->n_docs, &err), &err);
}

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
    world_refused(bm_link_graph_init(&g, &same, 1, 5, &err), BM_ERR_INPUT, &err, "1 and 1");
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

Test(link_graph, a_chain_of_a_million_links_is_walked_without_recursion)
{
    enum { LONG = 1000000 };
    bm_pair *pairs = malloc(LONG * sizeof *pairs);
    for (uint32_t i = 0; i < LONG; i++)
        pairs[i] = (bm_pair){i, i + 1, i == 777777 ? .8 : .9};
    bm_link_graph g;
    bm_chain chain;
    bm_bridges found;
    bm_cut cut;
    cr_assert_eq(bm_link_graph_init(&g, pairs, LONG, LONG + 1, NULL), BM_OK);
    cr_assert_eq(bm_shortest_chain(&g, LONG, 0, &chain, NULL), BM_OK);
    cr_expect_eq(chain.n_links, LONG);
    cr_expect(chain.docs[0] == LONG && chain.docs[LONG] == 0);
    cr_expect_eq(chain.pairs[chain.weakest], 777777);
    cr_assert_eq(bm_bridges_find(&g, &found, NULL), BM_OK);
    cr_expect_eq(found.n_bridges, LONG);
    cr_expect_eq(found.n_articulation_points, LONG - 1);
    cr_expect_eq(found.bridges[10].n_a, 11);
    cr_expect_eq(found.bridges[10].n_b, LONG - 10);
    cr_assert_eq(bm_min_cut(&g, LONG, 0, &cut, NULL), BM_OK);
    cr_expect_eq(cut.n, 1);
    cr_expect_eq(cut.pairs[0], LONG - 1);
    cr_expect_eq(cut.n_near, 1);
    bm_chain_reset(&chain);
    bm_bridges_reset(&found);
    bm_cut_reset(&cut);
    bm_link_graph_reset(&g);
    free(pairs);
}

Test(link_graph, a_document_has_no_chain_to_itself_and_is_not_parted_from_itself)
{
    const bm_pair pair = {0, 1, .9};
    bm_link_graph g;
    bm_chain chain;
    bm_cut cut;
    cr_assert_eq(bm_link_graph_init(&g, &pair, 1, 3, NULL), BM_OK);
    cr_assert_eq(bm_shortest_chain(&g, 1, 1, &chain, NULL), BM_OK);
    cr_expect_eq(chain.n_links, 0);
    cr_expect_eq(bm_min_cut(&g, 1, 1, &cut, NULL), BM_ERR_USAGE);
    bm_chain_reset(&chain);
    bm_link_graph_reset(&g);
}
