/* test_neighbours.c -- the neighbours of each document are those of the pairs that name it. The
 * model looks through all pairs for each document. */
#include <criterion/criterion.h>

#include "lsh/link_graph.h"

enum { DOCS = 40, PAIRS = 150 };

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

static void expect_neighbours(bm_pair_list list, bm_neighbours_with with)
{
    bm_neighbours n = {0};
    cr_assert_eq(bm_neighbours_make(list, with, &n, NULL), BM_OK);
    cr_assert_eq(n.pairs != NULL, with == BM_NEIGHBOURS_AND_PAIRS);
    cr_assert_eq(n.begins[0], 0);
    cr_assert_eq(n.begins[list.n_docs], 2 * list.n);
    for (uint32_t doc = 0; doc < list.n_docs; doc++) {
        size_t at = n.begins[doc];
        for (size_t i = 0; i < list.n; i++) {
            uint32_t ends[2] = {list.pairs[i].a, list.pairs[i].b};
            for (int k = 0; k < 2; k++) {
                if (ends[k] != doc)
                    continue;
                cr_assert_lt(at, n.begins[doc + 1]);
                cr_assert_eq(n.docs[at], ends[1 - k], "in the order of the pairs");
                if (n.pairs != NULL)
                    cr_assert_eq(n.pairs[at], i);
                at++;
            }
        }
        cr_assert_eq(at, n.begins[doc + 1]);
    }
    bm_neighbours_reset(&n);
    cr_assert(n.begins == NULL && n.docs == NULL && n.pairs == NULL);
}

Test(neighbours, are_those_of_the_pairs_in_their_order)
{
    uint64_t state = 3;
    for (int round = 0; round < 300; round++) {
        bm_pair pairs[PAIRS];
        uint32_t n_docs = 1 + draw(&state, DOCS);
        bm_pair_list list = {.pairs = pairs, .n = draw(&state, PAIRS), .n_docs = n_docs};
        for (size_t i = 0; i < list.n; i++) /* repeated pairs, and documents with themselves, too */
            pairs[i] =
                (bm_pair){draw(&state, n_docs), draw(&state, n_docs), draw(&state, 1000) / 1000.0};
        expect_neighbours(list, BM_NEIGHBOURS_DOCS);
        expect_neighbours(list, BM_NEIGHBOURS_AND_PAIRS);
    }
}

Test(neighbours, of_no_documents_are_none)
{
    expect_neighbours((bm_pair_list){0}, BM_NEIGHBOURS_DOCS);
    expect_neighbours((bm_pair_list){.n_docs = 3}, BM_NEIGHBOURS_AND_PAIRS);
}
