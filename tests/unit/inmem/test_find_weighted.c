/* SPDX-License-Identifier: Apache-2.0 */
/* test_find_weighted.c -- bm_find_pairs of documents with weights, against the plain formula for
 * every two of them: source src/inmem/finder.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "tests/world/world_random.h"

#define N      120u
#define WORDS  64u /* words in all; each document has some of them */
#define REPEAT 3u  /* every third document has a second entry of a word, with half its weight */

typedef struct world {
    double weight[N][WORDS]; /* 0: the document lacks the word */
    uint64_t offsets[N + 1], hashes[N * (WORDS + 1)];
    double weights[N * (WORDS + 1)];
} world;

static world *make(void)
{
    world *w = calloc(1, sizeof *w);
    size_t n = 0;
    for (size_t d = 0; d < N; d++) {
        if (d % 3 == 1 && d > 0)
            memcpy(w->weight[d], w->weight[d - 1], sizeof w->weight[d]);
        for (size_t k = 0; k < WORDS; k++)
            if (d % 3 != 1 ? world_draw() % 4 == 0 : world_draw() % 20 == 0)
                w->weight[d][k] = d % 17 == 0 ? 0 : 0.25 + (double)(world_draw() % 4096) / 256;
        for (size_t k = WORDS; k-- > 0;) /* in no order */
            if (w->weight[d][k] > 0) {
                w->hashes[n] = (k + 1) * 0x9E3779B97F4A7C15u;
                w->weights[n++] = w->weight[d][k];
            }
        if (d % REPEAT == 0 && n > w->offsets[d]) {
            w->hashes[n] = w->hashes[w->offsets[d]];
            w->weights[n] = w->weights[w->offsets[d]] / 2;
            n++;
        }
        w->offsets[d + 1] = n;
    }
    return w;
}

static double similarity(const world *w, size_t a, size_t b)
{
    double both = 0, either = 0;
    for (size_t k = 0; k < WORDS; k++) {
        both += fmin(w->weight[a][k], w->weight[b][k]);
        either += fmax(w->weight[a][k], w->weight[b][k]);
    }
    return either > 0 ? both / either : 0;
}

static void expect_pairs(const world *w, const bm_find_options *options)
{
    const double threshold = options->bands.threshold;
    const bm_documents docs = bm_documents_of_weights(w->offsets, w->hashes, w->weights, N);
    bm_pair_set *pairs = NULL;
    bm_error err = {0};
    size_t at = 0;
    cr_assert_eq(bm_find_pairs(options, &docs, &pairs, &err), BM_OK, "%s", err.message);
    const bm_pair *list = bm_pair_set_data(pairs);
    for (uint32_t a = 0; a < N; a++)
        for (uint32_t b = a + 1; b < N; b++) {
            const double wanted = similarity(w, a, b);
            if (wanted < threshold)
                continue;
            cr_assert_lt(at, bm_pair_set_count(pairs));
            cr_assert(list[at].a == a && list[at].b == b, "%u %u", a, b);
            cr_assert_float_eq(list[at].similarity, wanted, 1e-12);
            at++;
        }
    cr_assert_eq(at, bm_pair_set_count(pairs));
    cr_assert_gt(at, 10);
    bm_pair_set_free(pairs);
}

Test(find_weighted, pairs_are_those_of_the_formula)
{
    world *w = make();
    bm_find_options options;
    bm_find_options_init(&options);
    options.sketch.scheme = BM_SCHEME_CWS;
    options.sketch.perms = 256;
    options.bands.threshold = 0.4;
    for (uint32_t threads = 1; threads < 4; threads++) {
        options.resources.threads = threads;
        options.candidates = BM_CANDIDATES_ALL;
        options.bands.bands = options.bands.rows = 0;
        expect_pairs(w, &options);
        options.candidates = BM_CANDIDATES_LSH;
        options.bands.bands = 256; /* a pair at .4 is missed with a chance below 1e-56 */
        options.bands.rows = 1;
        expect_pairs(w, &options);
    }
    free(w);
}

Test(find_weighted, what_has_no_meaning_is_refused)
{
    world *w = make();
    const bm_documents docs = bm_documents_of_weights(w->offsets, w->hashes, w->weights, N);
    const bm_documents plain = bm_documents_of_hashes(w->offsets, w->hashes, N);
    bm_find_options options;
    bm_pair_set *pairs = NULL;
    bm_error err = {0};
    bm_find_options_init(&options);
    cr_assert_eq(bm_find_pairs(&options, &docs, &pairs, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "scheme");
    options.sketch.scheme = BM_SCHEME_CWS;
    cr_assert_eq(bm_find_pairs(&options, &plain, &pairs, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "scheme");
    options.candidates = BM_CANDIDATES_ALL;
    options.text.bag = true;
    cr_assert_eq(bm_find_pairs(&options, &docs, &pairs, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "bag");
    options.text.bag = false;
    options.text.weights = BM_WEIGHTS_TFIDF; /* only a job counts documents for tf-idf */
    cr_assert_eq(bm_find_pairs(&options, &docs, &pairs, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "weights");
    w->weights[3] = -1;
    options.text.weights = BM_WEIGHTS_NONE;
    cr_assert_eq(bm_find_pairs(&options, &docs, &pairs, &err), BM_ERR_INPUT);
    cr_assert_eq(pairs, NULL);
    free(w);
}
