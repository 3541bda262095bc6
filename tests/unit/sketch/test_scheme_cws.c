/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar reference of cws, compared with words from a Python model of docs/schemes.md
 * (tests/reference/cws_model.py), and the claims that follow from the definition. */
#include <criterion/criterion.h>

#include <string.h>

#include "base/random.h"
#include "sketch/scheme.h"

#include "cws_vectors.h"
#include "tests/world/world_scheme.h"

#define N_DOCUMENTS (sizeof documents / sizeof documents[0])

Test(scheme_cws, words_equal_those_of_the_model)
{
    for (size_t d = 0; d < N_DOCUMENTS; d++) {
        const uint32_t perms = documents[d].perms;
        const size_t begin = documents[d].begin;
        bm_scheme_params params = world_scheme(BM_SCHEME_CWS, perms, documents[d].seed);
        uint32_t words[BM_PERMS_MAX];
        uint64_t key;
        bm_scheme_cws.sign_weighted(&params, hashes + begin, weights + begin, documents[d].n,
                                    words);
        bm_band_keys_scalar(words, 1, perms, false, &key);
        cr_expect_arr_eq(words, documents[d].words, sizeof documents[d].words, "%s",
                         documents[d].what);
        cr_expect_eq(key, documents[d].key, "%s", documents[d].what);
        bm_scheme_params_reset(&params);
    }
}

Test(scheme_cws, no_element_is_all_one_bits_and_one_is_always_chosen)
{
    bm_scheme_params params = world_scheme(BM_SCHEME_CWS, BM_PERMS_MAX, 1);
    const uint64_t hash = UINT64_C(0x123456789ABCDEF0);
    uint32_t words[BM_PERMS_MAX];
    bm_scheme_cws.sign_weighted(&params, NULL, NULL, 0, words);
    for (uint32_t i = 0; i < BM_PERMS_MAX; i++)
        cr_assert_eq(words[i], BM_NO_SHINGLE32);
    for (double weight = 1e-300; weight < 1e301; weight *= 1e100) {
        bm_scheme_cws.sign_weighted(&params, &hash, &weight, 1, words);
        for (uint32_t i = 0; i < BM_PERMS_MAX; i++)
            cr_assert_eq(words[i], 0x9ABCDEF0u);
    }
    bm_scheme_params_reset(&params);
}

Test(scheme_cws, neither_the_order_of_elements_nor_more_permutations_change_a_word)
{
    enum { N = 100, PERMS = 128, FEW = 37 };
    bm_scheme_params params = world_scheme(BM_SCHEME_CWS, PERMS, 9);
    uint64_t x[N], turned[N];
    double weight[N], turned_weight[N];
    bm_random random;
    bm_random_init(&random, 4);
    for (size_t i = 0; i < N; i++) {
        turned[N - 1 - i] = x[i] = bm_random_u64(&random);
        turned_weight[N - 1 - i] = weight[i] = 1 + bm_random_u32(&random) % 9;
    }
    uint32_t words[PERMS], other[PERMS];
    bm_scheme_cws.sign_weighted(&params, x, weight, N, words);
    bm_scheme_cws.sign_weighted(&params, turned, turned_weight, N, other);
    cr_expect_arr_eq(words, other, sizeof words);
    params.perms = FEW;
    bm_scheme_cws.sign_weighted(&params, x, weight, N, other);
    cr_expect_arr_eq(words, other, FEW * sizeof *words);
    bm_scheme_params_reset(&params);
}

/* If one element of a set grows, a word changes only if the growing element takes it. */
Test(scheme_cws, an_element_that_grows_is_the_only_one_that_takes_words)
{
    enum { N = 50, PERMS = 512 };
    bm_scheme_params params = world_scheme(BM_SCHEME_CWS, PERMS, 3);
    uint64_t x[N];
    double weight[N];
    bm_random random;
    bm_random_init(&random, 8);
    for (size_t i = 0; i < N; i++) {
        x[i] = bm_random_u64(&random);
        weight[i] = 1;
    }
    uint32_t words[PERMS], grown[PERMS], n_changed = 0;
    bm_scheme_cws.sign_weighted(&params, x, weight, N, words);
    weight[7] = 25;
    bm_scheme_cws.sign_weighted(&params, x, weight, N, grown);
    for (uint32_t i = 0; i < PERMS; i++) {
        n_changed += words[i] != grown[i];
        cr_expect(words[i] == grown[i] || grown[i] == (uint32_t)x[7]);
    }
    cr_expect_gt(n_changed, 0);
    bm_scheme_params_reset(&params);
}

Test(scheme_cws, weights_and_scheme_go_together)
{
    const bm_sketch_options cws = {.perms = 8, .scheme = BM_SCHEME_CWS}, affine = {.perms = 8};
    bm_error err = {0};
    cr_expect_eq(bm_scheme_weights_check(&cws, true, NULL), BM_OK);
    cr_expect_eq(bm_scheme_weights_check(&affine, false, NULL), BM_OK);
    cr_expect_eq(bm_scheme_weights_check(&cws, false, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "scheme");
    cr_expect_eq(bm_scheme_weights_check(&affine, true, NULL), BM_ERR_USAGE);
    bm_scheme_params params;
    const bm_sketch_options bad = {.perms = BM_PERMS_MAX + 1, .scheme = BM_SCHEME_CWS};
    cr_expect_eq(bm_scheme_draw(&bad, &params, NULL), BM_ERR_USAGE);
}
