/* SPDX-License-Identifier: Apache-2.0 */
/* Golden vectors of datasketch 2. */
#include <criterion/criterion.h>

#include "sketch/scheme.h"

#define HELLO                                                                                      \
    UINT64_C(0x9BE0B27B8B9EFFF7) /* the first eight bytes of SHA-1("Hello"), little-endian */

Test(scheme_affine64, coefficients_and_words_of_hello_are_the_golden_vectors)
{
    static const uint64_t a[] = {UINT64_C(15385396165118722519), UINT64_C(8128538942144784529),
                                 UINT64_C(4219918138050323), UINT64_C(11154103013428313355)};
    static const uint64_t b[] = {UINT64_C(2707168392203228096), UINT64_C(1703346441743126657),
                                 UINT64_C(3435894450290564679), UINT64_C(6374470260350024188)};
    static const uint64_t expected[] = {
        UINT64_C(17263807126536662982), UINT64_C(6203611050164820875),
        UINT64_C(4141308390362884389), UINT64_C(4915270424612038026)};
    const bm_sketch_options options = {.perms = 4, .seed = 1, .scheme = BM_SCHEME_AFFINE64};
    const uint64_t hash = HELLO;
    uint64_t words[4];
    bm_scheme_params params;
    cr_assert_eq(bm_scheme_draw(&options, &params, NULL), BM_OK);
    cr_expect_arr_eq(params.a64, a, sizeof a);
    cr_expect_arr_eq(params.b64, b, sizeof b);
    params.ops->sign(&params, &hash, 1, words);
    cr_expect_arr_eq(words, expected, sizeof expected);
    params.ops->sign(&params, NULL, 0, words);
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(words[i], UINT64_MAX);
    bm_scheme_params_reset(&params);
}

/* k = band + 1; for each 64-bit word, k = k * 0x9E3779B97F4A7C15 + word; then fmix64(k). Computed
 * in Python. */
Test(scheme_affine64, band_keys_take_all_64_bits_of_a_word)
{
    static const uint64_t words[] = {UINT64_C(17263807126536662982), UINT64_C(6203611050164820875),
                                     UINT64_C(4141308390362884389), UINT64_C(4915270424612038026)};
    static const uint64_t expected[] = {UINT64_C(17523992532642071462),
                                        UINT64_C(5704691593675477771)};
    uint64_t keys[2];
    bm_band_keys_of(8)(words, 2, 2, false, keys);
    cr_expect_arr_eq(keys, expected, sizeof expected);
    bm_band_keys_of(8)(words, 2, 2, true, keys);
    cr_expect(keys[0] == UINT64_MAX && keys[1] == UINT64_MAX);
}
