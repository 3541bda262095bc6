/* SPDX-License-Identifier: Apache-2.0 */
/* test_turn_links.c -- links do not change after they are opened, even if more are found later. */
#include <criterion/criterion.h>

#include "model/ids.h"
#include "match/edges.h"

enum { DOCS = 5, EDGES = 4 };

static void add(bm_match *match, const bm_pair *edge)
{
    cr_assert_eq(bm_sorted_runs_add(match->result.edges, bm_pair_key(edge->a, edge->b),
                                    bm_edge_bits(edge->similarity), NULL),
                 BM_OK);
}

Test(turn_links, do_not_change_when_edges_are_found_later)
{
    static const bm_pair edges[EDGES] = {{0, 1, .75}, {0, 4, .5}, {1, 2, 1.0}, {2, 4, .625}};
    uint32_t order[DOCS] = {4, 2, 0, 3, 1};
    const bm_turns turns = {.order = order, .n = DOCS, .n_order = DOCS};
    bm_corpus corpus = {.n = DOCS};
    bm_match match = {.settings.corpus = &corpus};
    bm_turn_links links;
    cr_assert_eq(bm_edges_open_runs(&corpus, &match.result.edges, NULL), BM_OK);
    for (size_t i = EDGES; i > 0; i--)
        add(&match, &edges[i - 1]);
    cr_assert_eq(bm_turn_links_open(&match, &turns, &links, NULL), BM_OK);
    add(&match, &(bm_pair){1, 4, .75});
    cr_assert_eq(bm_edges_begin(&match, NULL), BM_OK);
    for (size_t turn = 0; turn < DOCS; turn++) {
        const uint32_t doc = order[turn], *near;
        size_t n, at = 0;
        cr_assert_eq(bm_turn_links_next(&links, turn, &near, &n, NULL), BM_OK);
        for (size_t i = 0; i < EDGES; i++) {
            if (edges[i].a != doc && edges[i].b != doc)
                continue;
            cr_assert_lt(at, n);
            cr_expect_eq(near[at], edges[i].a == doc ? edges[i].b : edges[i].a);
            cr_expect_eq(links.similarities[at], edges[i].similarity, "%u", doc);
            at++;
        }
        cr_expect_eq(at, n);
    }
    bm_turn_links_close(&links);
    bm_sorted_runs_close(match.result.edges);
}
