/* SPDX-License-Identifier: Apache-2.0 */
/* The best document of a batch before another, against a naive model: every document that is in and
 * was not taken out, with a key of some band in common, its similarity counted value by value. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "index/index_adder.h"

#include "tests/world/world_random.h"

#define BANDS 4u
#define WORDS 8u
#define N     300u
#define MOST  12u

typedef struct world {
    bm_gathered g;
    bm_store_doc docs[N];
    const uint64_t *sets[N];
    uint64_t hashes[N][MOST], keys[N * BANDS];
    uint32_t words[N * WORDS];
} world;

static uint64_t state = 99;

static uint32_t draw(uint32_t n)
{
    return world_below(&state, n);
}

static world *make_world(void)
{
    world *w = calloc(1, sizeof *w);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t n = 0;
        for (uint64_t value = 0; n < MOST && value < 20; value++)
            if (draw(3) != 0)
                w->hashes[i][n++] = value * UINT64_C(0x0101010101010101);
        w->docs[i].n_shingles = draw(15) == 0 ? 0 : n;
        w->sets[i] = w->hashes[i];
        for (uint32_t b = 0; b < BANDS; b++) /* few, and the same in several bands */
            w->keys[i * BANDS + b] = draw(12) + UINT64_C(1024) * draw(2);
        for (uint32_t k = 0; k < WORDS; k++)
            w->words[i * WORDS + k] = draw(2);
    }
    w->g =
        (bm_gathered){.n = N, .docs = w->docs, .sets = w->sets, .words = w->words, .keys = w->keys};
    return w;
}

static double similarity_of(const world *w, const bm_gather_shape *shape, size_t i, size_t k)
{
    uint32_t common = 0;
    const uint32_t n_i = w->docs[i].n_shingles, n_k = w->docs[k].n_shingles;
    if (!shape->sets) {
        for (uint32_t j = 0; j < WORDS; j++)
            common += w->words[i * WORDS + j] == w->words[k * WORDS + j];
        return (double)common / WORDS;
    }
    for (uint32_t a = 0; a < n_i; a++)
        for (uint32_t b = 0; b < n_k; b++)
            common += w->hashes[i][a] == w->hashes[k][b];
    return (double)common / (double)(n_i + n_k - common);
}

static bool are_near(const world *w, size_t i, size_t k)
{
    for (uint32_t b = 0; b < BANDS; b++)
        if (w->keys[i * BANDS + b] == w->keys[k * BANDS + b])
            return w->docs[i].n_shingles > 0 && w->docs[k].n_shingles > 0;
    return false;
}

/* Documents are asked in their order, then added; now and then one is taken out, or left out of a
 * question. */
static void expect_as_model(const bm_gather_shape *shape, double threshold)
{
    world *w = make_world();
    bool in[N] = {false};
    bm_index_near near = {.threshold = threshold};
    uint64_t candidates = 0, n_found = 0;
    cr_assert_eq(bm_index_near_begin(&near, &w->g, N, shape, NULL), BM_OK);
    for (size_t i = 0; i < N; i++) {
        const size_t but = draw(3) == 0 ? draw(N) : SIZE_MAX;
        size_t best = SIZE_MAX, wanted = SIZE_MAX;
        double most = 0, similarity = 0;
        for (size_t k = 0; k < i; k++) {
            if (!in[k] || k == but || !are_near(w, i, k))
                continue;
            candidates++;
            const double s = similarity_of(w, shape, i, k);
            if (s >= threshold && (wanted == SIZE_MAX || s > most)) {
                wanted = k;
                most = s;
            }
        }
        cr_assert_eq(bm_index_near_best(&near, i, but, &best, &similarity), wanted != SIZE_MAX,
                     "document %zu", i);
        cr_assert(wanted == SIZE_MAX || (best == wanted && similarity == most),
                  "document %zu: %zu, wanted %zu", i, best, wanted);
        n_found += wanted != SIZE_MAX;
        if (draw(4) != 0) {
            bm_index_near_add(&near, i);
            in[i] = true;
        }
        const uint32_t out = draw(N);
        if (in[out] && draw(5) == 0) {
            bm_index_near_remove(&near, out);
            in[out] = false;
        }
    }
    cr_expect_eq(near.candidates, candidates);
    cr_expect_eq(near.verified, candidates);
    cr_expect(n_found > N / 10 && n_found < N, "%d", (int)n_found);
    bm_index_near_reset(&near);
    free(w);
}

Test(index_near, sets_as_the_model)
{
    const bm_gather_shape shape = {.sets = true, .bands = BANDS};
    expect_as_model(&shape, 0.6);
    expect_as_model(&shape, 0.5);
}

Test(index_near, words_as_the_model)
{
    const bm_gather_shape shape = {.bands = BANDS, .words = WORDS, .word_bytes = sizeof(uint32_t)};
    expect_as_model(&shape, 0.75);
}

Test(index_near, a_batch_begins_without_what_was_in_the_last)
{
    const bm_gather_shape shape = {.sets = true, .bands = BANDS};
    world *w = make_world();
    bm_index_near near = {.threshold = 0.01};
    size_t best;
    double similarity;
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(bm_index_near_begin(&near, &w->g, N, &shape, NULL), BM_OK);
        for (size_t i = 0; i < N; i++)
            cr_assert_not(bm_index_near_best(&near, i, SIZE_MAX, &best, &similarity));
        for (size_t i = 0; i < N; i++)
            bm_index_near_add(&near, i);
    }
    bm_index_near_reset(&near);
    free(w);
}
