/* test_keep_rank.c -- ranks against a sort that compares columns one after the other; turns of
 * stars against a walk. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "lsh/groups.h"

#define N 700u

typedef struct numbers {
    uint64_t wide[N];
    uint32_t narrow[N][3]; /* every third number is a column */
    bm_keep_column columns[2];
} numbers;

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 20;
}

static void fill(numbers *d, uint64_t seed)
{
    uint64_t state = seed;
    for (size_t i = 0; i < N; i++) {
        const uint64_t number = draw(&state);
        d->wide[i] = seed % 3 == 0 ? number % 5 : seed % 3 == 1 ? number % 3000 : number << 20;
        d->narrow[i][1] = (uint32_t)(draw(&state) % 7);
    }
    d->columns[0] = (bm_keep_column){d->wide, sizeof d->wide[0], 8, seed % 2 == 0};
    d->columns[1] = (bm_keep_column){&d->narrow[0][1], sizeof d->narrow[0], 4, seed % 5 < 3};
}

static bool model_prefers(const numbers *d, bm_keep_order order, uint32_t x, uint32_t y)
{
    for (size_t c = 0; c < order.n_columns; c++) {
        const bm_keep_column *column = &order.columns[c];
        const bool first = column == &d->columns[0];
        const uint64_t p = first ? d->wide[x] : d->narrow[x][1];
        const uint64_t q = first ? d->wide[y] : d->narrow[y][1];
        if (p != q)
            return column->greatest ? p > q : p < q;
    }
    return order.last ? x > y : x < y;
}

Test(keep_rank, is_how_many_documents_a_comparison_of_columns_prefers)
{
    numbers *d = malloc(sizeof *d);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        fill(d, seed);
        const bm_keep_order order = {seed % 4 == 3 ? d->columns + 1 : d->columns,
                                     seed % 4 == 0 ? 2 : 1, seed % 3 == 1};
        bm_keep_rank rank;
        cr_assert_eq(bm_keep_rank_make(&order, N, &rank, NULL), BM_OK);
        for (uint32_t i = 0; i < N; i++) {
            uint32_t before = 0;
            for (uint32_t j = 0; j < N; j++)
                before += i != j && model_prefers(d, order, j, i);
            cr_assert_eq(bm_keep_rank_of(&rank, i), before, "seed %d document %u", (int)seed, i);
        }
        bm_keep_rank_reset(&rank);
    }
    free(d);
}

Test(keep_rank, of_a_rule_is_by_place_or_by_size_and_then_by_place)
{
    const uint64_t sizes[] = {4, 9, 4, 1, 9};
    const uint32_t expected[][5] = {
        {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 3, 4, 1}, {1, 3, 2, 0, 4}};
    const bm_keep_column column = {sizes, sizeof sizes[0], 8, false};
    for (bm_keep keep = BM_KEEP_FIRST; keep <= BM_KEEP_SHORTEST; keep++) {
        bm_keep_rank rank;
        cr_assert_eq(bm_keep_rank_of_rule(keep, &column, 5, &rank, NULL), BM_OK);
        for (uint32_t i = 0; i < 5; i++)
            cr_expect_eq(bm_keep_rank_of(&rank, i), expected[keep][i], "rule %d", (int)keep);
        bm_keep_rank_reset(&rank);
    }
}

Test(keep_rank, no_documents_have_no_ranks)
{
    bm_keep_rank rank;
    cr_assert_eq(bm_keep_rank_of_rule(BM_KEEP_LAST, NULL, 0, &rank, NULL), BM_OK);
    bm_keep_rank_reset(&rank);
}

Test(keep_rank, the_best_of_an_owner_is_that_of_the_least_rank)
{
    uint32_t ranks[] = {3, 1, 4, 0, 2}, best[5];
    const uint32_t owner[] = {1, 1, 2, 2, 1};
    bm_keep_rank_best(&(bm_keep_rank){.ranks = ranks, .n = 5}, owner, 5, best);
    cr_expect_eq(best[0], UINT32_MAX);
    cr_expect_eq(best[1], 1);
    cr_expect_eq(best[2], 3);
    bm_keep_rank_best(&(bm_keep_rank){0}, owner, 5, best);
    cr_expect_eq(best[1], 0);
    cr_expect_eq(best[2], 2);
}

Test(turns, go_to_representatives_at_the_places_of_their_preferred_copies)
{
    /* 0 2 5 are copies, and 1 4; the last is preferred */
    const uint32_t rep[] = {0, 1, 0, 3, 1, 0};
    bm_keep_rank rank;
    bm_turns turns;
    cr_assert_eq(bm_keep_rank_of_rule(BM_KEEP_LAST, NULL, 6, &rank, NULL), BM_OK);
    cr_assert_eq(bm_turns_make(&rank, rep, 6, &turns, NULL), BM_OK);
    cr_assert_eq(turns.n_order, 3);
    cr_expect_eq(turns.order[0], 0);
    cr_expect_eq(turns.order[1], 1);
    cr_expect_eq(turns.order[2], 3);
    cr_expect_eq(turns.best[0], 5);
    cr_expect_eq(turns.best[1], 4);
    bm_turns_reset(&turns);
    cr_assert_eq(bm_turns_make(&rank, NULL, 6, &turns, NULL), BM_OK);
    cr_assert_eq(turns.n_order, 6);
    for (uint32_t i = 0; i < 6; i++)
        cr_expect(turns.order[i] == 5 - i && turns.best[i] == i);
    bm_turns_reset(&turns);
    bm_keep_rank_reset(&rank);
}
