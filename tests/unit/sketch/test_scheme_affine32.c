/* SPDX-License-Identifier: Apache-2.0 */
/* Expected words and digests come from a Python reference that shares no code with the library:
 * NumPy's generator, fmix32 and the scheme's formula, written independently. */
#include <criterion/criterion.h>

#include <bandmill/sketch.h>

#include "sketch/scheme.h"
#include "tests/world/sha1_hex.h"

#define HELLO UINT64_C(0x8B9EFFF7) /* first four bytes of SHA-1("Hello"), little-endian */

static bm_scheme_params draw(uint32_t perms, uint32_t seed)
{
    bm_scheme_params params;
    bm_sketch_options options = {.perms = perms, .seed = seed};
    cr_assert_eq(bm_scheme_affine32.draw(&options, &params, NULL), BM_OK);
    return params;
}

Test(scheme_affine32, coefficients_and_words_of_hello_are_the_golden_vectors)
{
    static const uint32_t a[] = {3582191691, 4270784983, 1892572953, 3715639441};
    static const uint32_t b[] = {491263, 550290313, 1298508491, 4290846341};
    static const uint32_t expected[] = {3231258861, 1388533999, 831950533, 1845606703};
    bm_scheme_params params = draw(4, 1);
    cr_expect_arr_eq(params.a, a, sizeof a);
    cr_expect_arr_eq(params.b, b, sizeof b);
    uint32_t words[4];
    const uint64_t hash = HELLO;
    bm_scheme_affine32.sign(&params, &hash, 1, words);
    cr_expect_arr_eq(words, expected, sizeof expected);
    bm_scheme_params_reset(&params);
}

Test(scheme_affine32, coefficients_of_1024_permutations_have_the_references_digests)
{
    static const struct {
        uint32_t seed;
        const char *sha1;
    } rows[] = {{0, "0b2718fe3c375c284a34dc29c7be1e4285386d06"},
                {1, "af288f97631bd5929653aa25f56a16b7c8d320e6"},
                {42, "91ee7644ad8efb5483f9a0c9d47eb5143c60df74"},
                {777, "45702643fc27cb9728233cc6ed62faf19ec072a2"},
                {4294967295u, "aeb16894e3c22df7037c29111f9b126da1236a1a"}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        uint32_t both[2 * BM_PERMS_MAX];
        cr_assert_eq(
            bm_affine32_coefficients(rows[row].seed, BM_PERMS_MAX, both, both + BM_PERMS_MAX, NULL),
            BM_OK);
        char hex[41];
        cr_expect_str_eq(sha1_hex(both, sizeof both, hex), rows[row].sha1, "seed %u",
                         rows[row].seed);
    }
}

Test(scheme_affine32, words_of_ten_hashes_have_the_references_digests)
{
    static const struct {
        uint32_t perms, seed;
        const char *sha1;
    } rows[] = {{1, 1, "13a54e4ca8fef5f0dd2688d9b15c2e608c26106b"},
                {5, 1, "af97c0c28cb535b90acb1a580ce66b5cb85933b6"},
                {128, 1, "7723ee95e1bf60382afdd168f70af0993a222cb7"},
                {1024, 42, "e90885227555cd4cefc1a4d3b23094761e66e755"}};
    uint64_t hashes[10];
    for (uint32_t i = 0; i < 10; i++) /* the high halves must have no effect */
        hashes[i] = (uint64_t)(i * UINT32_C(2654435761) + 12345) | (uint64_t)(i + 1) << 40;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        bm_scheme_params params = draw(rows[row].perms, rows[row].seed);
        uint32_t words[BM_PERMS_MAX];
        bm_scheme_affine32.sign(&params, hashes, 10, words);
        char hex[41];
        cr_expect_str_eq(sha1_hex(words, params.perms * sizeof *words, hex), rows[row].sha1,
                         "%u permutations", params.perms);
        bm_scheme_params_reset(&params);
    }
}

Test(scheme_affine32, every_multiplier_is_odd_and_the_padding_is_zero)
{
    for (uint32_t perms = 1; perms <= BM_PERMS_MAX; perms++) {
        bm_scheme_params params = draw(perms, perms);
        cr_assert(params.perms_padded >= perms && params.perms_padded % 64 == 0);
        cr_assert_eq((uintptr_t)params.a % 64, 0);
        cr_assert_eq((uintptr_t)params.b % 64, 0);
        for (uint32_t i = 0; i < perms; i++)
            cr_assert_eq(params.a[i] & 1u, 1u);
        for (uint32_t i = perms; i < params.perms_padded; i++)
            cr_assert(params.a[i] == 0 && params.b[i] == 0);
        bm_scheme_params_reset(&params);
        cr_assert_null(params.a);
    }
}

Test(scheme_affine32, a_document_without_shingles_is_all_one_bits)
{
    bm_scheme_params params = draw(100, 3);
    uint32_t words[100] = {0};
    bm_scheme_affine32.sign(&params, NULL, 0, words);
    for (size_t i = 0; i < 100; i++)
        cr_assert_eq(words[i], UINT32_C(0xFFFFFFFF));
    bm_scheme_params_reset(&params);
}

Test(scheme_affine32, words_do_not_depend_on_order_or_repeats)
{
    bm_scheme_params params = draw(64, 9);
    const uint64_t once[] = {11, 22, 33}, again[] = {33, 11, 22, 22, 33};
    uint32_t x[64], y[64];
    bm_scheme_affine32.sign(&params, once, 3, x);
    bm_scheme_affine32.sign(&params, again, 5, y);
    cr_expect_arr_eq(x, y, sizeof x);
    bm_scheme_params_reset(&params);
}

Test(scheme_affine32, permutations_out_of_range_are_refused_and_nothing_is_written)
{
    static const uint32_t bad[] = {0, BM_PERMS_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        bm_sketch_options options = {.perms = bad[i], .seed = 1};
        bm_scheme_params params = {.perms = 77};
        bm_error err = {0};
        cr_expect_eq(bm_scheme_affine32.draw(&options, &params, &err), BM_ERR_USAGE);
        cr_expect_eq(params.perms, 77);
        cr_expect_neq(err.message[0], '\0');
        uint32_t a = 5, b = 6;
        cr_expect_eq(bm_affine32_coefficients(1, bad[i], &a, &b, NULL), BM_ERR_USAGE);
        cr_expect(a == 5 && b == 6);
    }
}
