/* SPDX-License-Identifier: Apache-2.0 */
/* test_pair_order.c -- keys of pairs sort as pairs do, and a pair can be recovered from its two
 * words. */
#include <criterion/criterion.h>
#include <math.h>

#include "model/ids.h"

static const bm_pair pairs[] = {{0, 1, .5}, {0, UINT32_MAX, 1}, {1, 0, 0},
                                {1, 2, -1}, {7, 7, INFINITY},   {UINT32_MAX, 0, .1}};

#define N (sizeof pairs / sizeof pairs[0])

Test(pair_order, pairs_and_their_keys_have_one_order)
{
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            uint64_t x = bm_pair_key(pairs[i].a, pairs[i].b);
            uint64_t y = bm_pair_key(pairs[j].a, pairs[j].b);
            int wanted = (i > j) - (i < j);
            cr_assert_eq(bm_pair_by_place(&pairs[i], &pairs[j]), wanted);
            cr_assert_eq((x > y) - (x < y), wanted);
        }
    }
}

Test(pair_order, a_pair_comes_back_from_its_two_words)
{
    for (size_t i = 0; i < N; i++) {
        bm_pair pair =
            bm_pair_of_key(bm_pair_key(pairs[i].a, pairs[i].b), bm_edge_bits(pairs[i].similarity));
        cr_assert(pair.a == pairs[i].a && pair.b == pairs[i].b);
        cr_assert_eq(pair.similarity, pairs[i].similarity);
    }
    cr_assert(isnan(bm_edge_similarity(bm_edge_bits(NAN))));
}
