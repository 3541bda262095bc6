/* SPDX-License-Identifier: Apache-2.0 */
/* Weighted documents through the public signer: the words are those of the scheme's reference for
 * any number of threads; options that do not fit are refused by name. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "base/random.h"
#include "sketch/scheme.h"
#include "tests/world/world_calls.h"

enum { DOCS = 300, PERMS = 60, BANDS = 12, ROWS = 5, HASHES = 20000 };

static uint64_t offsets[DOCS + 1], hashes[HASHES];
static double weights[HASHES];

static void make_documents(void)
{
    bm_random random;
    bm_random_init(&random, 77);
    for (size_t i = 0; i < DOCS; i++)
        offsets[i + 1] = offsets[i] + bm_random_u32(&random) % (i % 7 == 0 ? 3 : 100);
    cr_assert_leq(offsets[DOCS], HASHES);
    for (size_t i = 0; i < offsets[DOCS]; i++) {
        hashes[i] = bm_random_u64(&random);
        weights[i] = exp((double)(bm_random_u32(&random) % 40) - 20);
    }
}

static bm_signer *open(bm_scheme scheme, const char *device, uint32_t threads)
{
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.sketch = (bm_sketch_options){.perms = PERMS, .seed = 5, .scheme = scheme};
    options.bands.bands = BANDS;
    options.bands.rows = ROWS;
    options.band_keys = true;
    options.device.device = device;
    options.resources.threads = threads;
    return world_open(bm_signer, &options);
}

Test(signer_weights, words_and_keys_are_those_of_the_reference_for_any_threads)
{
    static uint32_t words[DOCS * PERMS], n_shingles[DOCS];
    static uint64_t keys[DOCS * BANDS];
    const bm_sketch_options sketch = {.perms = PERMS, .seed = 5, .scheme = BM_SCHEME_CWS};
    bm_scheme_params params;
    make_documents();
    cr_assert_eq(bm_scheme_draw(&sketch, &params, NULL), BM_OK);
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        bm_signer *signer = open(BM_SCHEME_CWS, threads == 1 ? "auto" : "cpu", threads);
        const bm_documents docs = bm_documents_of_weights(offsets, hashes, weights, DOCS);
        const bm_signer_out out = {
            .struct_size = sizeof out, .signatures = words, .keys = keys, .n_shingles = n_shingles};
        memset(words, 0, sizeof words);
        cr_assert_eq(bm_signer_sign(signer, &docs, &out, NULL), BM_OK);
        cr_expect_str_eq(bm_signer_describe(signer)->device, "cpu");
        for (size_t d = 0; d < DOCS; d++) {
            const size_t n = offsets[d + 1] - offsets[d];
            uint32_t expected[PERMS];
            uint64_t expected_keys[BANDS];
            params.ops->sign_weighted(&params, hashes + offsets[d], weights + offsets[d], n,
                                      expected);
            bm_band_keys_scalar(expected, BANDS, ROWS, n == 0, expected_keys);
            cr_assert_arr_eq(words + d * PERMS, expected, sizeof expected, "document %zu", d);
            cr_assert_arr_eq(keys + d * BANDS, expected_keys, sizeof expected_keys);
            cr_assert_eq(n_shingles[d], n);
        }
        bm_signer_close(signer);
    }
    bm_scheme_params_reset(&params);
}

Test(signer_weights, a_weight_that_is_none_is_bad_input_and_the_row_is_named)
{
    static uint32_t words[3 * PERMS];
    const double bad[] = {0.0, -1.0, NAN, INFINITY, -INFINITY};
    const uint64_t begins[] = {0, 2, 2, 5}, x[] = {1, 2, 3, 4, 5};
    double weight[] = {1, 1, 1, 1, 1};
    const bm_documents docs = bm_documents_of_weights(begins, x, weight, 3);
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    bm_signer *signer = open(BM_SCHEME_CWS, "cpu", 1);
    cr_expect_eq(bm_signer_sign(signer, &docs, &out, NULL), BM_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bm_error err = {0};
        weight[3] = bad[i];
        cr_expect_eq(bm_signer_sign(signer, &docs, &out, &err), BM_ERR_INPUT);
        cr_expect(strstr(err.message, "row 2") != NULL, "%s", err.message);
    }
    /* the sum of two such documents is infinite, so a copy would not be found */
    bm_error err = {0};
    weight[2] = weight[3] = 6e307;
    weight[4] = 5e-324;
    cr_expect_eq(bm_signer_sign(signer, &docs, &out, &err), BM_ERR_INPUT);
    cr_expect(strstr(err.message, "row 2 add up to 1.2e+308") != NULL, "%s", err.message);
    weight[2] = weight[3] = 4e307; /* large and small weights are fine */
    cr_expect_eq(bm_signer_sign(signer, &docs, &out, &err), BM_OK, "%s", err.message);
    bm_signer_close(signer);
}

Test(signer_weights, weights_without_the_scheme_or_the_scheme_without_weights_are_refused_by_name)
{
    static uint32_t words[PERMS];
    const uint64_t begins[] = {0, 1}, none[] = {0, 0}, x = 1;
    const uint32_t x32 = 1;
    const double weight = 1;
    const bm_str text = {"a", 1};
    const struct {
        bm_scheme scheme;
        bm_documents docs;
        bm_status status;
        const char *field;
    } rows[] = {
        {BM_SCHEME_CWS, bm_documents_of_hashes(begins, &x, 1), BM_ERR_USAGE, "scheme"},
        {BM_SCHEME_CWS, bm_documents_of_texts(&text, 1), BM_ERR_USAGE, "scheme"},
        {BM_SCHEME_AFFINE32, bm_documents_of_weights(begins, &x, &weight, 1), BM_ERR_USAGE,
         "scheme"},
        {BM_SCHEME_CWS,
         {.struct_size = sizeof(bm_documents),
          .n_docs = 1,
          .offsets = begins,
          .hashes32 = &x32,
          .weights = &weight},
         BM_ERR_USAGE,
         "weights"},
        {BM_SCHEME_CWS,
         {.struct_size = sizeof(bm_documents), .n_docs = 1, .texts = &text, .weights = &weight},
         BM_ERR_USAGE,
         "weights"},
        {BM_SCHEME_CWS, bm_documents_of_weights(begins, &x, &weight, 1), BM_OK, ""},
        {BM_SCHEME_CWS, bm_documents_of_weights(none, NULL, NULL, 1), BM_OK, ""},
        {BM_SCHEME_CWS, bm_documents_of_weights(NULL, NULL, NULL, 0), BM_OK, ""},
        {BM_SCHEME_AFFINE32, bm_documents_of_hashes(none, NULL, 1), BM_OK, ""}};
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bm_error err = {0};
        bm_signer *signer = open(rows[i].scheme, "cpu", 1);
        cr_expect_eq(bm_signer_sign(signer, &rows[i].docs, &out, &err), rows[i].status, "%zu: %s",
                     i, err.message);
        cr_expect_str_eq(err.field, rows[i].field, "%zu", i);
        bm_signer_close(signer);
    }
    bm_find_options find;
    bm_find_options_init(&find);
    bm_pair_set *pairs = NULL;
    bm_error err = {0};
    cr_expect_eq(bm_find_pairs(&find, &rows[5].docs, &pairs, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "scheme");
    find.sketch.scheme = BM_SCHEME_CWS;
    cr_expect_eq(bm_find_pairs(&find, &rows[0].docs, &pairs, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "scheme");
}
