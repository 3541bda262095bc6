/* test_shortest_chain.c -- shortest chains against all chains of small graphs, each walked. */
#include <stdlib.h>

#include "graph_model.h"
#include "lsh/link_graph.h"

static double known(double similarity)
{
    return isnan(similarity) ? -1 : similarity;
}

/* Depth first over every simple chain that is not longer than the best one: the expected answer by
 * its definition. */
typedef struct tries {
    const graph_model *m;
    uint32_t to, docs[MODEL_DOCS], best[MODEL_DOCS];
    bool on[MODEL_DOCS];
    size_t n_best; /* links; SIZE_MAX: none found */
    double wide;
} tries;

static bool comes_first(const tries *t, size_t n)
{
    for (size_t i = 0; i <= n; i++)
        if (t->docs[i] != t->best[i])
            return t->docs[i] < t->best[i];
    return false;
}

static void walk(tries *t, size_t n, double wide)
{
    uint32_t doc = t->docs[n];
    if (doc == t->to) {
        if (n < t->n_best || wide > t->wide || (wide >= t->wide && comes_first(t, n))) {
            memcpy(t->best, t->docs, sizeof t->best);
            t->n_best = n;
            t->wide = wide;
        }
        return;
    }
    for (size_t i = 0; n < t->n_best && i < t->m->n_pairs; i++) {
        const bm_pair *pair = &t->m->pairs[i];
        if (pair->a != doc && pair->b != doc)
            continue;
        uint32_t next = pair->a == doc ? pair->b : pair->a;
        if (t->on[next])
            continue;
        t->on[next] = true;
        t->docs[n + 1] = next;
        walk(t, n + 1, fmin(wide, known(pair->similarity)));
        t->on[next] = false;
    }
}

static void check(const graph_model *m, const bm_link_graph *g, uint32_t from, uint32_t to)
{
    tries t = {.m = m, .to = to, .docs = {from}, .n_best = SIZE_MAX, .wide = -2};
    bm_chain chain;
    t.on[from] = true;
    walk(&t, 0, INFINITY);
    cr_assert_eq(bm_shortest_chain(g, from, to, &chain, NULL), BM_OK);
    if (t.n_best == SIZE_MAX) {
        cr_assert_eq(chain.n_links, 0);
        bm_chain_reset(&chain);
        return;
    }
    cr_assert_eq(chain.n_links, t.n_best);
    double least = INFINITY;
    size_t weakest = 0;
    for (size_t i = 0; i < chain.n_links; i++) {
        const bm_pair *pair = &m->pairs[chain.pairs[i]];
        uint32_t a = chain.docs[i], b = chain.docs[i + 1];
        cr_assert((pair->a == a && pair->b == b) || (pair->a == b && pair->b == a));
        if (known(pair->similarity) < least) {
            least = known(pair->similarity);
            weakest = i;
        }
    }
    cr_assert_eq(least, t.wide);
    cr_assert_eq(chain.weakest, weakest);
    cr_assert_eq(memcmp(chain.docs, t.best, (t.n_best + 1) * sizeof *t.best), 0);
    bm_chain_reset(&chain);
}

Test(shortest_chain, is_the_best_of_all_chains_tried_one_by_one)
{
    graph_model m = {.state = 3};
    model_every_two(&m, 300, 3, check);
}

Test(shortest_chain, has_as_many_links_as_a_relaxation_of_distances_says)
{
    graph_model m = {.state = 5};
    for (int round = 0; round < 60; round++) {
        bm_link_graph g;
        uint32_t far[MODEL_DOCS];
        model_make(&m, MODEL_DOCS, 20 + model_draw(&m, 100), false);
        model_open(&m, &g);
        memset(far, 0x7F, sizeof far);
        far[0] = 0;
        for (uint32_t i = 0; i < m.n_docs; i++)
            for (size_t p = 0; p < m.n_pairs; p++) {
                uint32_t *a = &far[m.pairs[p].a], *b = &far[m.pairs[p].b];
                *a = *a > *b + 1 ? *b + 1 : *a;
                *b = *b > *a + 1 ? *a + 1 : *b;
            }
        for (uint32_t to = 1; to < m.n_docs; to++) {
            bm_chain chain;
            cr_assert_eq(bm_shortest_chain(&g, 0, to, &chain, NULL), BM_OK);
            cr_assert_eq(chain.n_links, far[to] >= m.n_docs ? 0 : far[to]);
            bm_chain_reset(&chain);
        }
        bm_link_graph_reset(&g);
    }
}

Test(shortest_chain, a_chain_of_a_million_links_is_walked_without_recursion)
{
    enum { LONG = 1000000 };
    bm_pair *pairs = malloc(LONG * sizeof *pairs);
    for (uint32_t i = 0; i < LONG; i++)
        pairs[i] = (bm_pair){i, i + 1, i == 777777 ? .8 : .9};
    bm_link_graph g;
    bm_chain chain;
    cr_assert_eq(bm_link_graph_init(&g, pairs, LONG, LONG + 1, NULL), BM_OK);
    cr_assert_eq(bm_shortest_chain(&g, LONG, 0, &chain, NULL), BM_OK);
    cr_expect_eq(chain.n_links, LONG);
    cr_expect_eq(chain.docs[0], LONG);
    cr_expect_eq(chain.docs[LONG], 0);
    cr_expect_eq(chain.pairs[chain.weakest], 777777);
    bm_chain_reset(&chain);
    bm_link_graph_reset(&g);
    free(pairs);
}

Test(shortest_chain, a_document_has_no_chain_to_itself)
{
    const bm_pair pair = {0, 1, .9};
    bm_link_graph g;
    bm_chain chain;
    cr_assert_eq(bm_link_graph_init(&g, &pair, 1, 3, NULL), BM_OK);
    cr_assert_eq(bm_shortest_chain(&g, 1, 1, &chain, NULL), BM_OK);
    cr_expect_eq(chain.n_links, 0);
    bm_chain_reset(&chain);
    bm_link_graph_reset(&g);
}
