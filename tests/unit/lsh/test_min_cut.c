/* test_min_cut.c -- least cuts against all ways to part the documents of small graphs. */
#include <stdlib.h>

#include "graph_model.h"
#include "lsh/link_graph.h"

static size_t across(const graph_model *m, uint32_t near)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_pairs; i++)
        n += (near >> m->pairs[i].a & 1u) != (near >> m->pairs[i].b & 1u);
    return n;
}

/* The least number of pairs across any set that holds `from` and not `to`; of the sets that reach
 * it the smallest. Least cuts form a lattice, so that one is unique (asserted). */
static uint32_t least_set(const graph_model *m, uint32_t from, uint32_t to, size_t *least)
{
    uint32_t best = 0, n_best = 0;
    *least = SIZE_MAX;
    for (uint32_t set = 0; set < UINT32_C(1) << m->n_docs; set++) {
        if (!(set >> from & 1u) || (set >> to & 1u))
            continue;
        size_t n = across(m, set);
        uint32_t size = (uint32_t)__builtin_popcount(set);
        uint32_t best_size = (uint32_t)__builtin_popcount(best);
        if (n < *least || (n == *least && size < best_size)) {
            best = set;
            *least = n;
            n_best = 1;
        } else if (n == *least && size == best_size) {
            n_best++;
        }
    }
    cr_assert_eq(n_best, 1);
    return best;
}

static void check(const graph_model *m, const bm_link_graph *g, uint32_t from, uint32_t to)
{
    size_t least, at = 0;
    uint32_t near = least_set(m, from, to, &least);
    bm_cut cut;
    cr_assert_eq(bm_min_cut(g, from, to, &cut, NULL), BM_OK);
    cr_assert_eq(cut.n, least);
    cr_assert_eq(cut.n_near, (size_t)__builtin_popcount(near));
    for (size_t i = 0; i < m->n_pairs; i++)
        if ((near >> m->pairs[i].a & 1u) != (near >> m->pairs[i].b & 1u))
            cr_assert_eq(cut.pairs[at++], i);
    bm_cut_reset(&cut);
}

Test(min_cut, is_the_least_and_the_nearest_of_all_that_part)
{
    graph_model m = {.state = 13};
    model_every_two(&m, 250, 4, check);
}

Test(min_cut, does_not_depend_on_the_order_of_the_pairs)
{
    graph_model m = {.state = 17};
    for (int round = 0; round < 40; round++) {
        model_make(&m, MODEL_DOCS, 60 + model_draw(&m, 200), false);
        graph_model turned = m;
        for (size_t i = 0; i < m.n_pairs; i++) {
            const bm_pair *pair = &m.pairs[m.n_pairs - 1 - i];
            turned.pairs[i] = (bm_pair){pair->b, pair->a, pair->similarity};
        }
        bm_link_graph g, h;
        bm_cut cut, same;
        model_open(&m, &g);
        model_open(&turned, &h);
        cr_assert_eq(bm_min_cut(&g, 0, 1, &cut, NULL), BM_OK);
        cr_assert_eq(bm_min_cut(&h, 0, 1, &same, NULL), BM_OK);
        cr_assert_eq(cut.n, same.n);
        cr_assert_eq(cut.n_near, same.n_near);
        for (size_t i = 0; i < cut.n; i++)
            cr_assert_eq(cut.pairs[i], m.n_pairs - 1 - same.pairs[cut.n - 1 - i]);
        bm_cut_reset(&cut);
        bm_cut_reset(&same);
        bm_link_graph_reset(&g);
        bm_link_graph_reset(&h);
    }
}

Test(min_cut, of_a_clique_is_all_links_of_one_document)
{
    enum { N = 200 };
    bm_pair *pairs = malloc(N * (N - 1) / 2 * sizeof *pairs);
    size_t n = 0;
    for (uint32_t a = 0; a < N; a++)
        for (uint32_t b = a + 1; b < N; b++)
            pairs[n++] = (bm_pair){a, b, .9};
    bm_link_graph g;
    bm_cut cut;
    cr_assert_eq(bm_link_graph_init(&g, pairs, n, N, NULL), BM_OK);
    cr_assert_eq(bm_min_cut(&g, 17, 150, &cut, NULL), BM_OK);
    cr_expect_eq(cut.n, N - 1);
    cr_expect_eq(cut.n_near, 1);
    for (size_t i = 0; i < cut.n; i++)
        cr_expect(pairs[cut.pairs[i]].a == 17 || pairs[cut.pairs[i]].b == 17);
    bm_cut_reset(&cut);
    bm_link_graph_reset(&g);
    free(pairs);
}

Test(min_cut, a_chain_of_a_million_links_is_cut_at_its_first)
{
    enum { LONG = 1000000 };
    bm_pair *pairs = malloc(LONG * sizeof *pairs);
    for (uint32_t i = 0; i < LONG; i++)
        pairs[i] = (bm_pair){i, i + 1, .9};
    bm_link_graph g;
    bm_cut cut;
    cr_assert_eq(bm_link_graph_init(&g, pairs, LONG, LONG + 1, NULL), BM_OK);
    cr_assert_eq(bm_min_cut(&g, LONG, 0, &cut, NULL), BM_OK);
    cr_expect_eq(cut.n, 1);
    cr_expect_eq(cut.pairs[0], LONG - 1);
    cr_expect_eq(cut.n_near, 1);
    bm_cut_reset(&cut);
    bm_link_graph_reset(&g);
    free(pairs);
}

Test(min_cut, a_document_is_not_parted_from_itself)
{
    const bm_pair pair = {0, 1, .9};
    bm_link_graph g;
    bm_cut cut;
    bm_error err = {0};
    cr_assert_eq(bm_link_graph_init(&g, &pair, 1, 2, NULL), BM_OK);
    cr_expect_eq(bm_min_cut(&g, 1, 1, &cut, &err), BM_ERR_USAGE);
    bm_link_graph_reset(&g);
}
