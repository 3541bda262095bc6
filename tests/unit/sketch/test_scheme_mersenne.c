/* SPDX-License-Identifier: Apache-2.0 */
/* Golden vectors from datasketch's own fixtures, and digests of coefficients that its RandomState
 * draws. */
#include <criterion/criterion.h>

#include <string.h>

#include "sketch/scheme.h"
#include "tests/world/sha1_hex.h"
#include "tests/world/world_scheme.h"

#define PRIME ((UINT64_C(1) << 61) - 1)

Test(scheme_mersenne, the_first_coefficients_of_legacy_are_the_golden_vectors)
{
    static const uint64_t a[] = {UINT64_C(775169054918279404), UINT64_C(2109959069025162),
                                 UINT64_C(401325382989534145), UINT64_C(1130051441076870728)};
    static const uint64_t b[] = {UINT64_C(1758426461858698312), UINT64_C(965365488286768773),
                                 UINT64_C(1703346441743126657), UINT64_C(1762784241922636284)};
    bm_scheme_params params = world_scheme(BM_SCHEME_LEGACY, 4, 1);
    cr_expect_arr_eq(params.a64, a, sizeof a);
    cr_expect_arr_eq(params.b64, b, sizeof b);
    bm_scheme_params_reset(&params);
}

Test(scheme_mersenne, many_coefficients_of_legacy_have_the_digests_of_numpys)
{
    static const struct {
        uint32_t seed, perms;
        const char *sha1;
    } rows[] = {{1, 128, "23bfa3d21b46ae7b550f79b7a164c2bc071b03ef"},
                {42, 256, "a2c6ec5472175236bfd10e3cdb5aea54f0b674f0"}};
    for (size_t row = 0; row < 2; row++) {
        const uint32_t perms = rows[row].perms;
        uint64_t both[2 * BM_PERMS_MAX];
        char hex[41];
        bm_scheme_params params = world_scheme(BM_SCHEME_LEGACY, perms, rows[row].seed);
        memcpy(both, params.a64, perms * sizeof *both);
        memcpy(both + perms, params.b64, perms * sizeof *both);
        cr_expect_str_eq(sha1_hex(both, 2 * perms * sizeof *both, hex), rows[row].sha1);
        bm_scheme_params_reset(&params);
    }
}

/* The first four bytes of the SHA-1 of datasketch, minhash, affine, legacy, fixture; in hello[], of
 * hello, world, minhash. */
static const uint64_t fixture[] = {0x95FD507F, 0x1A5BC520, 0xF1F3B456, 0x6E04339B, 0xC1F3CF51};
static const uint64_t hello[] = {0x1DC6F4AA, 0x3314217C, 0x1A5BC520};

Test(scheme_mersenne, words_of_legacy_are_those_of_datasketchs_fixture)
{
    static const uint32_t expected[] = {615829395,  403905604,  2148529625, 66448688,
                                        1847255163, 1126317356, 318181934,  818505764};
    uint32_t words[8];
    bm_scheme_params params = world_scheme(BM_SCHEME_LEGACY, 8, 42);
    params.ops->sign(&params, fixture, 5, words);
    cr_expect_arr_eq(words, expected, sizeof expected);
    bm_scheme_params_reset(&params);
}

Test(scheme_mersenne, the_128_words_of_legacy_of_three_tokens_have_the_golden_digest)
{
    uint32_t words[128];
    char hex[41];
    bm_scheme_params params = world_scheme(BM_SCHEME_LEGACY, 128, 1);
    params.ops->sign(&params, hello, 3, words);
    cr_expect_eq(words[0], 228630785);
    cr_expect_eq(words[127], 1493692063);
    cr_expect_str_eq(sha1_hex(words, sizeof words, hex),
                     "91d0d75fd54040c836d8193b0584053fde5cf599");
    bm_scheme_params_reset(&params);
}

Test(scheme_mersenne, coefficients_and_least_values_of_datatrove_are_the_golden_vectors)
{
    const uint64_t hashes[] = {1, UINT64_C(1) << 63, UINT64_C(12345678901234567890)};
    const uint64_t expected[] = {UINT64_C(574544044318327338), UINT64_C(238136717084171353),
                                 UINT64_C(746332547839613373)};
    uint64_t words[112];
    bm_scheme_params params = world_scheme(BM_SCHEME_DATATROVE, 112, 1);
    cr_expect_eq(params.a64[0], UINT64_C(775169054918279404));
    cr_expect_eq(params.b64[0], UINT64_C(1062448801025099917));
    params.ops->sign(&params, hashes, 3, words);
    cr_expect_arr_eq(words, expected, sizeof expected);
    params.ops->sign(&params, NULL, 0, words);
    cr_expect_eq(words[111], UINT64_MAX);
    bm_scheme_params_reset(&params);
}

/* text-dedup draws the same numbers as legacy in another order, all a first; so the first a is the
 * same. */
Test(scheme_mersenne, coefficients_of_text_dedup_are_all_a_then_all_b)
{
    bm_scheme_params two = world_scheme(BM_SCHEME_TEXT_DEDUP, 2, 1),
                     one = world_scheme(BM_SCHEME_LEGACY, 1, 1);
    cr_expect_eq(two.a64[0], one.a64[0]);
    cr_expect_eq(two.a64[1], UINT64_C(1758426461858698313), "1 + what legacy draws from 0 on");
    cr_expect_lt(two.b64[1], PRIME);
    bm_scheme_params_reset(&two);
    bm_scheme_params_reset(&one);
}

Test(scheme_mersenne, only_the_low_half_of_a_hash_counts)
{
    const uint64_t low = 77, high = low | UINT64_C(0x1234567800000000);
    const bm_scheme both[] = {BM_SCHEME_LEGACY, BM_SCHEME_TEXT_DEDUP};
    for (size_t i = 0; i < 2; i++) {
        uint32_t x[64], y[64];
        bm_scheme_params params = world_scheme(both[i], 64, 3);
        params.ops->sign(&params, &low, 1, x);
        params.ops->sign(&params, &high, 1, y);
        cr_expect_arr_eq(x, y, sizeof x);
        bm_scheme_params_reset(&params);
    }
}
