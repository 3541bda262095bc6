/* SPDX-License-Identifier: Apache-2.0 */
/* Expected keys come from a Python reference. */
#include <criterion/criterion.h>

#include <bandmill/sketch.h>
#include <string.h>

#include "sketch/scheme.h"
#include "tests/world/sha1_hex.h"

static const uint32_t hello[] = {3231258861, 1388533999, 831950533, 1845606703};
static const uint64_t hello_keys[] = {UINT64_C(18258633322519393571),
                                      UINT64_C(1176806970048115671)};
static const bm_band_plan two_of_two = {.perms = 4, .bands = 2, .rows = 2};

Test(band_keys, hello_in_two_bands_of_two_is_the_golden_vector)
{
    uint64_t keys[2];
    bm_band_keys_scalar(hello, 2, 2, false, keys);
    cr_expect_arr_eq(keys, hello_keys, sizeof keys);
    memset(keys, 0, sizeof keys);
    cr_assert_eq(bm_band_keys(hello, 1, &two_of_two, keys, NULL), BM_OK);
    cr_expect_arr_eq(keys, hello_keys, sizeof keys);
}

Test(band_keys, keys_of_long_signatures_have_the_references_digests)
{
    static const struct {
        uint32_t perms, seed, bands, rows;
        const char *sha1;
    } rows[] = {{1, 1, 1, 1, "dca44c3acc79b044e8e2a359397a2d5a12836c21"},
                {5, 1, 2, 2, "122c0a149ecc6b83d8ae79b2f1867477ab9b85b5"}, /* one word unused */
                {128, 1, 16, 8, "67aa46722c7761fb3a1ef79e57d4754d1a0a620e"},
                {1024, 42, 128, 8, "847c17273fd3de92c25363380ec09ecf840e0343"}};
    uint64_t hashes[10];
    for (uint32_t i = 0; i < 10; i++)
        hashes[i] = (uint32_t)(i * UINT32_C(2654435761) + 12345);
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        bm_scheme_params params;
        bm_sketch_options options = {.perms = rows[row].perms, .seed = rows[row].seed};
        cr_assert_eq(bm_scheme_affine32.draw(&options, &params, NULL), BM_OK);
        uint32_t words[BM_PERMS_MAX];
        bm_scheme_affine32.sign(&params, hashes, 10, words);
        uint64_t keys[128];
        const bm_band_plan plan = {
            .perms = rows[row].perms, .bands = rows[row].bands, .rows = rows[row].rows};
        cr_assert_eq(bm_band_keys(words, 1, &plan, keys, NULL), BM_OK);
        char hex[41];
        cr_expect_str_eq(sha1_hex(keys, rows[row].bands * sizeof *keys, hex), rows[row].sha1);
        bm_scheme_params_reset(&params);
    }
}

Test(band_keys, equal_bands_have_different_keys_by_their_number)
{
    const uint32_t same[] = {7, 7, 7, 7};
    uint64_t keys[4];
    bm_band_keys_scalar(same, 4, 1, false, keys);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = i + 1; j < 4; j++)
            cr_expect_neq(keys[i], keys[j]);
}

Test(band_keys, documents_without_shingles_have_keys_of_all_one_bits)
{
    uint32_t words[3 * 4];
    memcpy(words, hello, sizeof hello);
    memset(words + 4, 0xFF, sizeof hello);
    memcpy(words + 8, hello, sizeof hello);
    words[8] = words[9] = UINT32_MAX; /* only a whole row of ones is an empty document */
    uint64_t keys[6];
    cr_assert_eq(bm_band_keys(words, 3, &two_of_two, keys, NULL), BM_OK);
    cr_expect_eq(keys[0], hello_keys[0]);
    cr_expect_eq(keys[2], UINT64_MAX);
    cr_expect_eq(keys[3], UINT64_MAX);
    cr_expect_neq(keys[4], UINT64_MAX);
    cr_expect_eq(keys[5], hello_keys[1]);
    bm_band_keys_scalar(hello, 2, 2, true, keys);
    cr_expect(keys[0] == UINT64_MAX && keys[1] == UINT64_MAX);
}

Test(band_keys, plans_that_do_not_fit_are_refused_and_nothing_is_written)
{
    static const uint32_t bad[][3] = {{4, 0, 2},        {4, 2, 0}, {4, 5, 1},
                                      {4, 2, 3},        {0, 1, 1}, {BM_PERMS_MAX + 1, 1, 1},
                                      {4, 65536, 65536}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t key = 99;
        bm_error err = {0};
        const bm_band_plan plan = {.perms = bad[i][0], .bands = bad[i][1], .rows = bad[i][2]};
        cr_expect_eq(bm_band_keys(hello, 1, &plan, &key, &err), BM_ERR_USAGE);
        cr_expect_eq(key, 99);
        cr_expect_eq(err.status, BM_ERR_USAGE);
    }
    uint64_t key = 99;
    cr_expect_eq(bm_band_keys(hello, 0, &two_of_two, &key, NULL), BM_OK,
                 "no documents are no error");
    cr_expect_eq(key, 99);
}

Test(band_keys, pointers_that_are_null_are_refused_by_name)
{
    uint64_t key = 99;
    bm_error err = {0};
    cr_expect_eq(bm_band_keys(hello, 1, NULL, &key, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "plan");
    cr_expect_eq(bm_band_keys(NULL, 1, &two_of_two, &key, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "signatures");
    cr_expect_eq(bm_band_keys(hello, 1, &two_of_two, NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "keys");
    cr_expect_eq(bm_band_keys(hello, 1, NULL, &key, NULL), BM_ERR_USAGE);
}

/* The words of affine64's golden vector; the keys were computed in Python by the formula of
 * docs/formats.md. */
Test(band_keys, keys_of_words_of_64_bits_take_all_their_bits)
{
    static const uint64_t words[] = {UINT64_C(17263807126536662982),
                                     UINT64_C(6203611050164820875),
                                     UINT64_C(4141308390362884389),
                                     UINT64_C(4915270424612038026),
                                     UINT64_MAX,
                                     UINT64_MAX,
                                     UINT64_MAX,
                                     UINT64_MAX};
    static const uint64_t expected[] = {UINT64_C(17523992532642071462),
                                        UINT64_C(5704691593675477771), UINT64_MAX, UINT64_MAX};
    const bm_band_plan plan = {.perms = 4, .bands = 2, .rows = 2};
    uint64_t keys[4];
    bm_error err = {0};
    cr_assert_eq(bm_band_keys64(words, 2, &plan, keys, NULL), BM_OK);
    cr_expect_arr_eq(keys, expected, sizeof expected);
    cr_expect_eq(bm_band_keys64(NULL, 2, &plan, keys, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "signatures");
}
