/* test_turn_links.c -- links are those of the time when they were opened, whatever becomes of the list of edges. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/match/turn_links.h"

enum { DOCS = 5, EDGES = 4 };

Test(turn_links, of_a_list_do_not_change_when_edges_are_found_later)
{
    static const bm_pair edges[EDGES] = {{0, 1, .75}, {0, 4, .5}, {1, 2, 1.0}, {2, 4, .625}};
    uint32_t order[DOCS] = {4, 2, 0, 3, 1};
    const bm_turns turns = {.order = order, .n = DOCS, .n_order = DOCS};
    bm_match match = {.result.edges = {.list = malloc(sizeof edges), .n = EDGES, .cap = EDGES}};
    bm_turn_links links;
    memcpy(match.result.edges.list, edges, sizeof edges);
    cr_assert_eq(bm_turn_links_open(&match, &turns, BM_TURN_LINKS_ALIKE, &links, NULL), BM_OK);
    /* The list moves, as it does when it grows or goes to runs. */
    memset(match.result.edges.list, 0xFF, sizeof edges);
    free(match.result.edges.list);
    match.result.edges.list = NULL;
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
}
