/* SPDX-License-Identifier: Apache-2.0 */
/* test_set_links.c -- links among random sets, some of them copies, against comparing all pairs one
 * by one. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "inmem/finder.h"

#include "tests/world/world_random.h"

enum { SETS = 24, WORDS = 20 };

typedef struct world {
    uint64_t hashes[SETS * WORDS], offsets[SETS + 1];
    uint32_t bits[SETS]; /* bit w of bits[i]: word w is in set i */
    bm_hash128 contents[SETS];
    double similarity[SETS][SETS]; /* 0: no link; 1 for a copy and the first of its kind */
    double links[SETS][SETS];      /* the links found */
} world;

static void make(world *w, uint64_t seed, double threshold)
{
    bool copy[SETS] = {false};
    memset(w, 0, sizeof *w);
    world_state = seed;
    for (uint32_t i = 0; i < SETS; i++) {
        for (uint32_t k = 0; k < WORDS; k++)
            w->bits[i] |= (uint32_t)(world_pick(4) > 0) << k;
        if (i > 0 && world_pick(4) == 0)
            w->bits[i] = w->bits[world_pick(i)];
        w->offsets[i + 1] = w->offsets[i];
        for (uint32_t k = 0; k < WORDS; k++)
            if (w->bits[i] >> k & 1)
                w->hashes[w->offsets[i + 1]++] = (k + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 8;
        for (uint64_t a = w->offsets[i]; a < w->offsets[i + 1]; a++) /* ascending */
            for (uint64_t b = a + 1; b < w->offsets[i + 1]; b++)
                if (w->hashes[b] < w->hashes[a]) {
                    const uint64_t x = w->hashes[a];
                    w->hashes[a] = w->hashes[b];
                    w->hashes[b] = x;
                }
        w->contents[i] = (bm_hash128){.lo = w->bits[i] * UINT64_C(77777777777), .hi = 5};
    }
    for (uint32_t b = 0; b < SETS; b++) {
        for (uint32_t a = 0; a < b && !copy[b]; a++)
            if (!copy[a] && w->bits[a] == w->bits[b]) {
                copy[b] = true;
                w->similarity[a][b] = 1;
            }
    }
    for (uint32_t a = 0; a < SETS; a++)
        for (uint32_t b = a + 1; b < SETS; b++) {
            const uint32_t both = w->bits[a] & w->bits[b], any = w->bits[a] | w->bits[b];
            const double jaccard =
                (double)__builtin_popcount(both) / (double)__builtin_popcount(any);
            if (!copy[a] && !copy[b] && jaccard >= threshold)
                w->similarity[a][b] = round(jaccard * 1e6) / 1e6;
        }
}

static bm_status keep(void *ctx, bm_pair link, bm_error *err)
{
    world *w = ctx;
    (void)err;
    cr_assert(link.a < link.b && link.b < SETS);
    cr_expect_eq(w->links[link.a][link.b], 0.0, "a link comes once");
    w->links[link.a][link.b] = link.similarity;
    return BM_OK;
}

Test(set_links, links_are_all_pairs_at_the_threshold_and_each_copy_with_its_first)
{
    static world w;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const double threshold = .5 + .05 * (double)(seed % 8);
        bm_find_options options;
        make(&w, seed, threshold);
        bm_find_options_init(&options);
        options.candidates = BM_CANDIDATES_ALL;
        options.verify = BM_VERIFY_EXACT;
        options.bands.threshold = threshold;
        options.resources.threads = 1;
        const bm_linked_sets sets = {w.offsets, w.hashes, NULL, w.contents, SETS};
        cr_assert_eq(bm_set_links(&options, &sets, keep, &w, NULL), BM_OK);
        for (uint32_t a = 0; a < SETS; a++)
            for (uint32_t b = a + 1; b < SETS; b++)
                cr_expect_eq(w.links[a][b], w.similarity[a][b], "seed %u: %u %u", (unsigned)seed, a,
                             b);
    }
}

static bm_status refuse(void *ctx, bm_pair link, bm_error *err)
{
    (void)link;
    ++*(int *)ctx;
    return bm_fail(err, BM_ERR_INPUT, "enough");
}

Test(set_links, who_takes_the_links_may_end_the_search)
{
    uint64_t offsets[] = {0, 1, 2}, hashes[] = {7, 7};
    const bm_hash128 contents[] = {{.lo = 1}, {.lo = 1}};
    const bm_linked_sets sets = {offsets, hashes, NULL, contents, 2};
    bm_find_options options;
    bm_error err = {0};
    int calls = 0;
    bm_find_options_init(&options);
    cr_expect_eq(bm_set_links(&options, &sets, refuse, &calls, &err), BM_ERR_INPUT);
    cr_expect_str_eq(err.message, "enough");
    cr_expect_eq(calls, 1);
}

Test(set_links, a_similarity_is_that_of_its_six_decimals)
{
    cr_expect_eq(bm_six_decimals(7.0 / 9), .777778);
    cr_expect_eq(bm_six_decimals(1.0), 1.0);
    cr_expect_eq(bm_six_decimals(0.0), 0.0);
    cr_expect_eq(bm_six_decimals(0.0000004), 0.0);
    cr_expect_eq(bm_six_decimals(0.9999999), 1.0);
    cr_expect(isnan(bm_six_decimals(NAN)));
}
