/* test_stars.c -- the promise of stars, whatever the pairs and the order of the turns. */
#include <criterion/criterion.h>

#include "lsh/groups.h"

enum { DOCS = 40, PAIRS = 80 };

typedef struct world {
    uint64_t state;
    bm_pair pairs[PAIRS];
    bool joined[DOCS][DOCS];
    uint32_t order[DOCS];
    bm_pair_list list;
} world;

static uint32_t draw(world *w, uint32_t below)
{
    w->state = w->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((w->state >> 33) % below);
}

static world make(uint64_t seed)
{
    world w = {.state = seed};
    w.list = (bm_pair_list){.n = draw(&w, PAIRS), .n_docs = DOCS};
    for (size_t i = 0; i < w.list.n; i++) {
        uint32_t a = draw(&w, DOCS), b = draw(&w, DOCS);
        w.pairs[i] = (bm_pair){a, b, .5};
        w.joined[a][b] = w.joined[b][a] = true;
    }
    for (uint32_t i = 0; i < DOCS; i++) {
        uint32_t at = draw(&w, i + 1);
        w.order[i] = w.order[at];
        w.order[at] = i;
    }
    return w;
}

static void expect_stars(const world *w, const uint32_t *order, const uint32_t *centres)
{
    uint32_t turn[DOCS];
    for (uint32_t i = 0; i < DOCS; i++)
        turn[order == NULL ? i : order[i]] = i;
    for (uint32_t doc = 0; doc < DOCS; doc++) {
        uint32_t centre = centres[doc];
        cr_assert_eq(centres[centre], centre, "a centre is its own");
        cr_assert(centre == doc || w->joined[doc][centre],
                  "a document is a neighbour of its centre");
        for (uint32_t other = 0; other < DOCS; other++) {
            if (centres[other] != other || !w->joined[doc][other] || other == doc)
                continue;
            cr_assert(centre != doc, "two centres are no neighbours");
            cr_assert_leq(turn[centre], turn[other],
                          "the first centre among the neighbours takes it");
        }
    }
}

Test(stars, every_document_is_joined_to_its_centre_and_no_two_centres_are)
{
    for (uint64_t seed = 1; seed < 500; seed++) {
        world w = make(seed);
        uint32_t centres[DOCS];
        w.list.pairs = w.pairs;
        cr_assert_eq(bm_stars(w.list, seed % 3 == 0 ? NULL : w.order, centres, NULL), BM_OK);
        expect_stars(&w, seed % 3 == 0 ? NULL : w.order, centres);
    }
}

Test(stars, a_document_that_has_no_turn_is_taken_by_a_neighbour_or_by_nobody)
{
    static const bm_pair pairs[] = {{0, 1, .5}, {1, 2, .5}};
    static const uint32_t order[] = {1};
    uint32_t centres[4] = {BM_NOT_TAKEN, BM_NOT_TAKEN, BM_NOT_TAKEN, BM_NOT_TAKEN};
    bm_neighbours n = {0};
    bm_pair_list list = {.pairs = pairs, .n = 2, .n_docs = 4};
    cr_assert_eq(bm_neighbours_make(list, BM_NEIGHBOURS_DOCS, &n, NULL), BM_OK);
    bm_stars_walk(&n, order, 1, centres);
    cr_assert(centres[0] == 1 && centres[1] == 1 && centres[2] == 1);
    cr_assert_eq(centres[3], BM_NOT_TAKEN);
    bm_neighbours_reset(&n);
}

Test(stars, of_no_documents_are_none)
{
    cr_assert_eq(bm_stars((bm_pair_list){0}, NULL, NULL, NULL), BM_OK);
}
