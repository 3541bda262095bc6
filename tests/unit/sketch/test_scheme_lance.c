/* SPDX-License-Identifier: Apache-2.0 */
/* The golden vectors of Lance's own test. */
#include <criterion/criterion.h>

#include "sketch/scheme.h"

Test(scheme_lance, words_of_three_shingles_are_the_golden_vectors_of_lance)
{
    static const uint64_t hashes[] = {UINT64_C(0x4c0b0d36203ce55f), UINT64_C(0x09c7ae895d82b184),
                                      UINT64_C(0x68e7f4b1be7b4c1f)};
    static const uint32_t expected[] = {0xb00f, 0x59d6, 0x511a, 0xcd2c};
    const bm_sketch_options options = {.perms = 4, .seed = 42, .scheme = BM_SCHEME_LANCE};
    bm_scheme_params params;
    uint32_t words[4];
    cr_assert_eq(bm_scheme_draw(&options, &params, NULL), BM_OK);
    params.ops->sign(&params, hashes, 3, words);
    cr_expect_arr_eq(words, expected, sizeof expected);
    params.ops->sign(&params, NULL, 0, words);
    cr_expect_eq(words[0], UINT32_MAX, "which no document with shingles has");
    bm_scheme_params_reset(&params);
}
