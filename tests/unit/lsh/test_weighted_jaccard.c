/* SPDX-License-Identifier: Apache-2.0 */
/* test_weighted_jaccard.c -- weighted Jaccard, compared with sums over every element of both sets.
 */
#include "lsh/verify.h"
#include "tests/world/world_random.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A subset of the elements 0 to 63: bit i tells whether element i is in it, with weight weights[i].
 */
static bm_weighted_set make(uint64_t bits, const double weights[64], uint64_t block[128])
{
    size_t n = 0, k = 0;
    for (unsigned i = 0; i < 64; i++)
        n += bits >> i & 1;
    for (unsigned i = 0; i < 64; i++)
        if (bits >> i & 1) {
            block[k] = (uint64_t)i << 50;
            memcpy(&block[n + k++], &weights[i], sizeof *weights);
        }
    return (bm_weighted_set){block, (const void *)(block + n), n};
}

Test(weighted_jaccard, is_the_sum_of_the_smaller_over_that_of_the_greater)
{
    uint64_t state = 1;
    for (int turn = 0; turn < 2000; turn++) {
        double weights[2][64], both = 0, either = 0, sum = 0;
        uint64_t bits[2], blocks[2][128];
        bm_weighted_set sets[2];
        for (int s = 0; s < 2; s++) {
            for (int i = 0; i < 64; i++)
                weights[s][i] = 1 + (double)(world_random(&state) >> 40) * 0x1p-20;
            bits[s] = world_random(&state);
            bits[s] &= turn % 3 == 0 ? UINT64_MAX : bits[s] >> 7; /* a subset with fewer elements */
            if (turn % 50 == s)
                bits[s] = 0;
            sets[s] = make(bits[s], weights[s], blocks[s]);
        }
        for (int i = 0; i < 64; i++) {
            const double x = bits[0] >> i & 1 ? weights[0][i] : 0;
            const double y = bits[1] >> i & 1 ? weights[1][i] : 0;
            both += fmin(x, y);
            either += fmax(x, y);
            sum += x;
        }
        const double wanted = either > 0 ? both / either : 0;
        cr_assert_eq(bm_weighted_jaccard(sets[0], sets[1]), wanted);
        cr_assert_eq(bm_weighted_jaccard(sets[1], sets[0]), wanted);
        cr_assert_eq(bm_weighted_sum(sets[0]), sum);
        if (bits[0] != 0)
            cr_assert_eq(bm_weighted_jaccard(sets[0], sets[0]), 1.0);
    }
}
