/* SPDX-License-Identifier: Apache-2.0 */
/* bm_compare_pairs against the definition: common hashes counted one by one. */
#include <criterion/criterion.h>

#include <string.h>

#include <bandmill/sketch.h>

#include "tests/world/world_random.h"

enum { N = 40, MOST = 30, PAIRS = N * N };

static uint64_t offsets[N + 1], hashes[N * MOST];

/* Ascending sets, many of which share hashes; the first two are empty. */
static bm_documents make(void)
{
    uint64_t state = 7;
    size_t n = 0;
    for (size_t doc = 0; doc < N; doc++) {
        offsets[doc] = n;
        for (uint64_t hash = 0; doc > 1 && hash < MOST; hash++)
            if (world_below(&state, 3) != 0)
                hashes[n++] = hash << 40 | 5;
    }
    offsets[N] = n;
    return bm_documents_of_hashes(offsets, hashes, N);
}

static double naive(uint32_t a, uint32_t b)
{
    uint64_t common = 0, n_a = offsets[a + 1] - offsets[a], n_b = offsets[b + 1] - offsets[b];
    for (uint64_t i = offsets[a]; i < offsets[a + 1]; i++)
        for (uint64_t j = offsets[b]; j < offsets[b + 1]; j++)
            common += hashes[i] == hashes[j];
    return n_a + n_b == 0 ? 0 : (double)common / (double)(n_a + n_b - common);
}

static bm_compare_options options_of(double threshold)
{
    bm_compare_options options;
    bm_compare_options_init(&options);
    options.threshold = threshold;
    options.resources.threads = 1;
    return options;
}

static size_t all_pairs(bm_pair *pairs)
{
    for (uint32_t i = 0; i < PAIRS; i++)
        pairs[i] = (bm_pair){i / N, i % N, 7};
    return PAIRS;
}

Test(compare_pairs, similarities_are_those_of_the_definition)
{
    static bm_pair pairs[PAIRS];
    const bm_documents docs = make();
    const double thresholds[] = {0, .5, .6, 1};
    for (size_t t = 0; t < 4; t++) {
        bm_compare_options options = options_of(thresholds[t]);
        options.resources.threads = 1 + (t & 1);
        cr_assert_eq(bm_compare_pairs(&options, &docs, pairs, all_pairs(pairs), NULL), BM_OK);
        for (size_t i = 0; i < PAIRS; i++) {
            const double expected = naive(pairs[i].a, pairs[i].b);
            cr_expect(pairs[i].similarity == (expected >= thresholds[t] ? expected : -1));
        }
    }
}

static void expect_input(const bm_documents *docs, bm_pair pair, const char *words)
{
    bm_error err = {0};
    const bm_compare_options options = options_of(.5);
    cr_expect_eq(bm_compare_pairs(&options, docs, &pair, 1, &err), BM_ERR_INPUT);
    cr_expect(strstr(err.message, words) != NULL, "%s", err.message);
}

Test(compare_pairs, sets_in_another_order_and_documents_that_there_are_not_are_refused)
{
    bm_documents docs = make();
    expect_input(&docs, (bm_pair){0, N, 0}, "pair 0 is of documents 0 and 40");
    expect_input(&docs, (bm_pair){UINT32_MAX, 1, 0}, "pair 0");
    uint64_t last = hashes[offsets[3] - 1];
    hashes[offsets[3] - 1] = hashes[offsets[3] - 2];
    expect_input(&docs, (bm_pair){0, 1, 0}, "document 2");
    hashes[offsets[3] - 1] = last;
    docs.n_docs = 0;
    expect_input(&docs, (bm_pair){0, 0, 0}, "there are 0");
}

static void expect_usage(const bm_compare_options *options, const bm_documents *docs,
                         const char *field)
{
    bm_error err = {0};
    cr_expect_eq(bm_compare_pairs(options, docs, NULL, strcmp(field, "pairs") == 0, &err),
                 BM_ERR_USAGE);
    cr_expect_str_eq(err.field, field);
}

Test(compare_pairs, what_is_wrong_is_named)
{
    static const uint32_t low[N * MOST];
    static const bm_str texts[N];
    const bm_documents docs = make(), text = bm_documents_of_texts(texts, N),
                       short_hashes = bm_documents_of_hashes32(offsets, low, N);
    bm_compare_options options = options_of(.5), bad = options_of(1.5), none = {0};
    expect_usage(NULL, &docs, "bm_compare_options");
    expect_usage(&none, &docs, "struct_size");
    expect_usage(&bad, &docs, "threshold");
    expect_usage(&options, NULL, "bm_documents");
    expect_usage(&options, &text, "texts");
    expect_usage(&options, &short_hashes, "hashes32");
    expect_usage(&options, &docs, "pairs");
    options.resources.threads = BM_THREADS_MAX + 1;
    expect_usage(&options, &docs, "threads");
}
